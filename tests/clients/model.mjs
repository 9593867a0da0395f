// A model that follows a script, for agent clients that are tested without a network.
//
//   node model.mjs PORT SCRIPT LOG
//
// SCRIPT is a JSON list of steps: {"tool": NAME, "args": {…}} or {"text": WORDS}; {"if": WORDS, "then": STEP, "else": STEP}
// goes by what was said so far. The step is the number of tool results in the request, so the model keeps no state. SCRIPT may also be a
// list of {"when": [WORDS…], "steps": […]}: the first counts whose words were all said. Every request is written to LOG, a line each.
// Four dialects are spoken: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's.
import fs from 'node:fs';
import http from 'node:http';

const [port, scriptFile, logFile] = process.argv.slice(2);
const script = JSON.parse(fs.readFileSync(scriptFile, 'utf8'));
let made = 0;
const id = (kind) => `${kind}_${process.pid}_${(made += 1)}`;

/** The step that is due, with the name that the client gives to its tool. */
function due(results, tools, said) {
  if (!tools.length) return { text: 'a title' };
  const has = (words) => said.includes(JSON.stringify(words).slice(1, -1));
  const steps = script[0].when ? script.find((one) => one.when.every(has))?.steps : script;
  if (!steps) return { text: 'there is no script for this' };
  let step = steps[Math.min(results, steps.length - 1)];
  if (step.if) step = has(step.if) ? step.then : step.else;
  if (!step.tool) return step;
  const tool = tools.find((one) => one.name === step.tool || one.name.endsWith(`_${step.tool}`));
  return tool ? { ...step, tool } : { text: `no tool ${step.tool} among ${tools.map((one) => one.name)}` };
}

function anthropic(body, text, write) {
  const blocks = body.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
  const results = blocks.filter((block) => block.type === 'tool_result').length;
  const step = due(results, body.tools ?? [], text);
  const usage = { input_tokens: 10, output_tokens: 5 };
  const head = { id: id('msg'), type: 'message', role: 'assistant', model: body.model, content: [], stop_sequence: null, usage };
  const [block, delta, reason] = step.tool
    ? [{ type: 'tool_use', id: id('toolu'), name: step.tool.name, input: {} },
       { type: 'input_json_delta', partial_json: JSON.stringify(step.args ?? {}) }, 'tool_use']
    : [{ type: 'text', text: '' }, { type: 'text_delta', text: step.text }, 'end_turn'];
  write({ type: 'message_start', message: { ...head, stop_reason: null } });
  write({ type: 'content_block_start', index: 0, content_block: block });
  write({ type: 'content_block_delta', index: 0, delta });
  write({ type: 'content_block_stop', index: 0 });
  write({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage });
  write({ type: 'message_stop' });
}

function openai(body, text, write) {
  const results = body.input.filter((item) => (item.type ?? '').endsWith('_output')).length;
  // Tools of a server come as a namespace; a call names both.
  const tools = (body.tools ?? []).flatMap((tool) => tool.type === 'namespace'
    ? tool.tools.map((inner) => ({ name: `${tool.name}__${inner.name}`, call: { namespace: tool.name, name: inner.name } }))
    : [{ name: tool.name ?? tool.type, call: { name: tool.name } }]);
  const step = due(results, tools, text);
  const item = step.tool
    ? { type: 'function_call', id: id('fc'), call_id: id('call'), ...step.tool.call, arguments: JSON.stringify(step.args ?? {}), status: 'completed' }
    : { type: 'message', id: id('msg'), role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: step.text, annotations: [] }] };
  const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15 };
  const response = { id: id('resp'), object: 'response', model: body.model };
  write({ type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } });
  write({ type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } });
  write({ type: 'response.output_item.done', output_index: 0, item });
  write({ type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } });
}

function chat(body, text, write) {
  const results = body.messages.filter((message) => message.role === 'tool').length;
  const step = due(results, (body.tools ?? []).map((tool) => ({ name: tool.function.name })), text);
  const head = { id: id('chat'), object: 'chat.completion.chunk', created: 1, model: body.model };
  const call = step.tool && { index: 0, id: id('call'), type: 'function', function: { name: step.tool.name, arguments: JSON.stringify(step.args ?? {}) } };
  const delta = call ? { role: 'assistant', tool_calls: [call] } : { role: 'assistant', content: step.text };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  write({ ...head, choices: [{ index: 0, delta, finish_reason: null }] });
  write({ ...head, choices: [{ index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }], usage });
  write('[DONE]');
}

function gemini(body, text, write) {
  const parts = body.contents.flatMap((content) => content.parts ?? []);
  const results = parts.filter((part) => part.functionResponse).length;
  const step = due(results, (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []), text);
  const part = step.tool ? { functionCall: { name: step.tool.name, args: step.args ?? {} } } : { text: step.text };
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
  write({ candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [part] } }], usageMetadata });
}

const DIALECTS = [['/messages', anthropic], ['/responses', openai], ['/chat/completions', chat], [':streamGenerateContent', gemini]];

http.createServer((request, answer) => {
  let text = '';
  request.on('data', (piece) => { text += piece; });
  request.on('end', () => {
    const path = request.url.split('?')[0];
    const speak = DIALECTS.find(([end]) => path.endsWith(end))?.[1];
    if (request.method !== 'POST' || !speak) {
      answer.writeHead(request.method === 'HEAD' ? 200 : 404, { 'content-type': 'application/json' });
      return answer.end('{}');
    }
    const body = JSON.parse(text);
    fs.appendFileSync(logFile, `${JSON.stringify(body)}\n`);
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    speak(body, text, (event) => {
      const name = event.type ? `event: ${event.type}\n` : '';
      answer.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
    });
    return answer.end();
  });
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
