import { defineConfig } from "vite";

// Parts that Monaco's own parts bring along and a playground does not use: the editor that compares (ours is a table,
// src/compare.ts), drawing by the GPU, colours to pick, definitions to go to, things that are pasted as something else.
// They are a tenth of the first load. What is left of each does nothing.
const unused = (name) => `export class ${name} { constructor() { throw new Error("${name} is not part of this build"); } static get() { return null; } }\n`;
const LEFT_OUT = {
  "/diffEditor/diffEditorWidget.js": unused("DiffEditorWidget"),
  "/multiDiffEditor/multiDiffEditorWidget.js": unused("MultiDiffEditorWidget"),
  "/viewLinesGpu/viewLinesGpu.js": unused("ViewLinesGpu"),
  "/hoverColorPicker/hoverColorPickerParticipant.js": unused("ColorHover") + unused("HoverColorPickerParticipant"),
  "/hoverColorPicker/hoverColorPicker.js": "export const isOnColorDecorator = () => false;",
  "/browser/inlayHintsHover.js": unused("InlayHintsHover"),
  "/link/goToDefinitionAtPosition.js": unused("GotoDefinitionAtPositionEditorContribution"),
  "/dropOrPasteInto/browser/copyPasteController.js": unused("CopyPasteController"),
};

const leaveOut = {
  name: "leave-out",
  enforce: "pre",
  load(id) {
    const found = id.includes("/monaco-editor/") && Object.keys(LEFT_OUT).find((end) => id.endsWith(end));
    return found ? LEFT_OUT[found] : null;
  },
};

export default defineConfig({
  base: "/",
  plugins: [leaveOut],
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    target: "es2022",
    // Everything is a file of its own: data: addresses would need another CSP.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 8192,
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  // `npm run dev`: the API is a running service's.
  server: { proxy: { "/v1": "http://127.0.0.1:7320", "/containers": "http://127.0.0.1:7320" } },
});
