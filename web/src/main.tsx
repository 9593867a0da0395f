import { render } from "preact";
import { App } from "./app";
import { startKeys } from "./keys";
import { startRouting } from "./route";
import { startSettings } from "./settings";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/lists.css";
import "./style/task.css";
import "./style/plots.css";
import "./style/phone.css";

startSettings();
startRouting();
startKeys();
const root = document.getElementById("root");
if (root) render(<App />, root);
