import { defineConfig } from "vite";

// One script and one sheet with fixed names: the server embeds them and answers with their ETags, and a rebuild of the same
// sources gives the same bytes.
export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    // These know light-dark(): the tokens stay as they are written.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
        codeSplitting: false,
      },
    },
  },
});
