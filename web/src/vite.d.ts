declare module "monaco-editor/editor/editor.worker?worker" {
  const Start: new () => Worker;
  export default Start;
}
declare module "monaco-editor/features/*";
declare module "monaco-editor/languages/*";
