// The editor: Monaco with the parts of it that a playground uses, and files in tabs.
import * as monaco from "monaco-editor/editor/editor.api";
import "monaco-editor/features/anchorSelect/register";
import "monaco-editor/features/bracketMatching/register";
import "monaco-editor/features/caretOperations/register";
import "monaco-editor/features/clipboard/register";
import "monaco-editor/features/comment/register";
import "monaco-editor/features/contextmenu/register";
import "monaco-editor/features/cursorUndo/register";
import "monaco-editor/features/find/register";
import "monaco-editor/features/folding/register";
import "monaco-editor/features/fontZoom/register";
import "monaco-editor/features/format/register";
import "monaco-editor/features/gotoError/register";
import "monaco-editor/features/gotoLine/register";
import "monaco-editor/features/hover/register";
import "monaco-editor/features/indentation/register";
import "monaco-editor/features/lineSelection/register";
import "monaco-editor/features/linesOperations/register";
import "monaco-editor/features/multicursor/register";
import "monaco-editor/features/quickCommand/register";
import "monaco-editor/features/smartSelect/register";
import "monaco-editor/features/snippet/register";
import "monaco-editor/features/suggest/register";
// Which that leaves out: the list itself.
import "monaco-editor/editor/contrib/suggest/browser/suggestController";
import "monaco-editor/features/toggleTabFocusMode/register";
import "monaco-editor/features/unicodeHighlighter/register";
import "monaco-editor/features/wordHighlighter/register";
import "monaco-editor/features/wordOperations/register";
import "monaco-editor/languages/definitions/cpp/register";
import "monaco-editor/languages/definitions/go/register";
import "monaco-editor/languages/definitions/java/register";
import "monaco-editor/languages/definitions/javascript/register";
import "monaco-editor/languages/definitions/lua/register";
import "monaco-editor/languages/definitions/perl/register";
import "monaco-editor/languages/definitions/pgsql/register";
import "monaco-editor/languages/definitions/php/register";
import "monaco-editor/languages/definitions/python/register";
import "monaco-editor/languages/definitions/r/register";
import "monaco-editor/languages/definitions/ruby/register";
import "monaco-editor/languages/definitions/rust/register";
import "monaco-editor/languages/definitions/shell/register";
import "monaco-editor/languages/definitions/sql/register";
import "monaco-editor/languages/definitions/typescript/register";
import EditorWorker from "monaco-editor/editor/editor.worker?worker";
import { syntaxes } from "./languages";
import { coloursOf, Palette, rulesOf, spread } from "./palette";

// Asked for when the editor first compares or looks for words, not when the page is loaded.
self.MonacoEnvironment = { getWorker: () => new EditorWorker() };

/** The theme anew from the palette as it is now. */
function paint(dark: boolean): void {
  const palette = new Palette();
  const colors = coloursOf(palette);
  monaco.editor.defineTheme("ember", { base: dark ? "vs-dark" : "vs", inherit: true, rules: rulesOf(palette), colors });
  monaco.editor.setTheme("ember");
  spread(colors);
}

export interface OpenFile {
  name: string;
  model: monaco.editor.ITextModel;
  /** Of a file of a session: which it is, and the version of the text that is there, as far as that is known. */
  origin: { session: string; path: string; saved: number; text: string | null } | null;
}

/** Whether a session's file was changed since it was read from the session or written to it. */
export const isChanged = (file: OpenFile): boolean => file.origin !== null && file.model.getAlternativeVersionId() !== file.origin.saved;

/** The editor's column (of UTF-16) for the service's (of characters). */
function columnOf(model: monaco.editor.ITextModel, line: number, column: number): number {
  return [...model.getLineContent(line)].slice(0, column - 1).join("").length + 1;
}

export interface Mark {
  line: number;
  column?: number | null;
  endColumn?: number | null;
  message: string;
  severity: "error" | "warning" | "info" | "hint";
}

/** Completion, inspection and formatting, as a session or the service provides them. */
export interface Assistant {
  complete(code: string, cursor: number): Promise<{ matches: string[]; start: number; end: number } | null>;
  inspect(code: string, cursor: number): Promise<string | null>;
  format(code: string): Promise<string | null>;
}

export class Editor {
  readonly widget: monaco.editor.IStandaloneCodeEditor;
  readonly files: OpenFile[] = [];
  #active = 0;
  #states = new Map<string, monaco.editor.ICodeEditorViewState | null>();
  #flash: monaco.editor.IEditorDecorationsCollection;
  #failure: { model: monaco.editor.ITextModel; ids: string[] } | null = null;
  onChange: () => void = () => {};
  onTabs: () => void = () => {};

  constructor(place: HTMLElement, dark: boolean) {
    this.setTheme(dark);
    this.widget = monaco.editor.create(place, {
      model: null,
      automaticLayout: true,
      fontSize: 14,
      lineHeight: 21,
      fontFamily: "ui-monospace, 'SF Mono', 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace",
      minimap: { enabled: false },
      scrollBeyondLastLine: false,
      padding: { top: 12, bottom: 12 },
      smoothScrolling: true,
      renderLineHighlightOnlyWhenFocus: true,
      overviewRulerBorder: false,
      hideCursorInOverviewRuler: true,
      // As wide as with the folding that comes later, so that nothing moves.
      lineDecorationsWidth: 26,
      lineNumbersMinChars: 4,
      stickyScroll: { enabled: false },
      bracketPairColorization: { enabled: false },
      scrollbar: { verticalScrollbarSize: 10, horizontalScrollbarSize: 10, useShadows: false },
      ariaLabel: "Code",
      fixedOverflowWidgets: true,
      wordBasedSuggestions: "currentDocument",
      tabSize: 4,
      // These need a worker and a font: when the page has settled.
      unicodeHighlight: { ambiguousCharacters: false, invisibleCharacters: false },
      folding: false,
      wordWrap: innerWidth > 760 ? "off" : "on",
    });
    // On Linux Monaco has Ctrl+Shift+I for it, which the browser keeps for itself.
    monaco.editor.addKeybindingRules([
      { keybinding: monaco.KeyMod.CtrlCmd | monaco.KeyMod.Shift | monaco.KeyCode.KeyI, command: "-editor.action.formatDocument" },
      // Ctrl+Enter runs, and the list of commands is not to say otherwise.
      { keybinding: monaco.KeyMod.CtrlCmd | monaco.KeyCode.Enter, command: "-editor.action.insertLineAfter" },
      { keybinding: monaco.KeyMod.Shift | monaco.KeyMod.Alt | monaco.KeyCode.KeyF, command: "editor.action.formatDocument", when: "editorTextFocus && !editorReadonly" },
    ]);
    this.command("Toggle Word Wrap", "emberbox.wrap", [monaco.KeyMod.Alt | monaco.KeyCode.KeyZ], () => {
      this.widget.updateOptions({ wordWrap: this.widget.getOption(monaco.editor.EditorOption.wordWrap) === "on" ? "off" : "on" });
    });
    window.setTimeout(() => this.widget.updateOptions({ folding: true, lineDecorationsWidth: 10, unicodeHighlight: { ambiguousCharacters: true, invisibleCharacters: true } }), 4000);
    this.#flash = this.widget.createDecorationsCollection();
  }

  setTheme(dark: boolean): void {
    paint(dark);
  }

  get active(): OpenFile | undefined {
    return this.files[this.#active];
  }
  get activeIndex(): number {
    return this.#active;
  }

  /** All files anew; the first is the program. */
  load(files: { name: string; text: string; syntax: string; origin?: { session: string; path: string } }[]): void {
    this.widget.setModel(null);
    this.#states.clear();
    for (const file of this.files.splice(0)) file.model.dispose();
    for (const file of files) {
      // Whether the session has the same text is not known.
      const added = this.#add(file.name, file.text, file.syntax);
      if (file.origin) added.origin = { ...file.origin, saved: -1, text: null };
    }
    this.show(0);
  }

  #add(name: string, text: string, syntax: string): OpenFile {
    const model = monaco.editor.createModel(text, syntax);
    model.updateOptions(/^(go|c|cpp|shell)$/.test(syntax) ? { insertSpaces: false, tabSize: 4 } : { insertSpaces: true, tabSize: /^(javascript|typescript|ruby|lua|r|sql|pgsql)$/.test(syntax) ? 2 : 4 });
    const file: OpenFile = { name, model, origin: null };
    let changed = false;
    model.onDidChangeContent(() => {
      if (this.#failure?.model === model) this.#clearFailure();
      this.onChange();
      if (isChanged(file) === changed) return;
      changed = !changed;
      this.onTabs();
    });
    this.files.push(file);
    return file;
  }

  open(name: string, text: string, syntax: string, at = this.files.length): OpenFile {
    const file = this.#add(name, text, syntax);
    this.files.splice(at, 0, ...this.files.splice(-1));
    this.show(at);
    this.onChange();
    return file;
  }

  close(index: number): void {
    const [file] = this.files.splice(index, 1);
    if (!file) return;
    const next = Math.min(this.#active > index ? this.#active - 1 : this.#active, this.files.length - 1);
    this.show(next);
    file.model.dispose();
    this.onChange();
  }

  rename(index: number, name: string, syntax: string): void {
    const file = this.files[index];
    if (!file) return;
    file.name = name;
    monaco.editor.setModelLanguage(file.model, syntax);
    this.onTabs();
    this.onChange();
  }

  show(index: number): void {
    const file = this.files[index];
    if (!file) return;
    const before = this.widget.getModel();
    if (before) this.#states.set(before.id, this.widget.saveViewState());
    this.#active = index;
    this.widget.setModel(file.model);
    const state = this.#states.get(file.model.id);
    if (state) this.widget.restoreViewState(state);
    this.#flash.clear();
    this.onTabs();
  }

  /** The selected text and where it begins; null: there is no selection. */
  selection(): { text: string; line: number; column: number; all: boolean; last: number } | null {
    const range = this.widget.getSelection();
    const model = this.widget.getModel();
    if (!range || !model || range.isEmpty()) return null;
    // Lines that are selected from within their indentation are whole ones, and lose what all of them have.
    const whole = range.startColumn <= model.getLineFirstNonWhitespaceColumn(range.startLineNumber);
    const text = model.getValueInRange(whole ? range.setStartPosition(range.startLineNumber, 1) : range);
    const indent = whole ? Math.min(...text.split("\n").filter((line) => line.trim() !== "").map((line) => /^[ \t]*/.exec(line)![0].length)) : 0;
    return {
      text: text.split("\n").map((line) => line.slice(Math.min(indent, /^[ \t]*/.exec(line)![0].length))).join("\n"),
      line: range.startLineNumber,
      column: whole ? 1 + (Number.isFinite(indent) ? indent : 0) : range.startColumn,
      all: whole,
      last: range.endLineNumber,
    };
  }

  /** Sets the squiggles of one owner, in place of its earlier ones. */
  mark(file: OpenFile, owner: string, marks: Mark[]): void {
    const severity = { error: monaco.MarkerSeverity.Error, warning: monaco.MarkerSeverity.Warning, info: monaco.MarkerSeverity.Info, hint: monaco.MarkerSeverity.Hint };
    monaco.editor.setModelMarkers(
      file.model,
      owner,
      marks.filter((mark) => mark.line >= 1 && mark.line <= file.model.getLineCount()).map((mark) => {
        const last = file.model.getLineMaxColumn(mark.line);
        const column = Math.min(mark.column ? columnOf(file.model, mark.line, mark.column) : file.model.getLineFirstNonWhitespaceColumn(mark.line), last) || 1;
        const word = file.model.getWordAtPosition({ lineNumber: mark.line, column });
        const end = mark.endColumn ? columnOf(file.model, mark.line, mark.endColumn) : mark.column ? Math.max(word?.endColumn ?? 0, column + 1) : last;
        return {
          severity: severity[mark.severity],
          message: mark.message,
          startLineNumber: mark.line,
          startColumn: column === last && column > 1 ? column - 1 : column,
          endLineNumber: mark.line,
          endColumn: Math.min(end, last),
        };
      }),
    );
  }

  clearMarks(owner: string): void {
    monaco.editor.removeAllMarkers(owner);
    if (owner === "run") this.#clearFailure();
  }

  /** Marks the line that failed, with the reason behind it, until the line is changed or the next run begins. */
  fail(file: OpenFile, line: number, why: string): void {
    this.#clearFailure();
    if (line < 1 || line > file.model.getLineCount()) return;
    const end = file.model.getLineMaxColumn(line);
    const content = why.replace(/\s+/g, " ").slice(0, 160);
    const ids = file.model.deltaDecorations([], [
      { range: new monaco.Range(line, 1, line, 1), options: { isWholeLine: true, className: "line-failed" } },
      { range: new monaco.Range(line, end, line, end), options: { showIfCollapsed: true, after: { content: `\u2003${content}`, inlineClassName: "line-why", cursorStops: monaco.editor.InjectedTextCursorStops.None } } },
    ]);
    this.#failure = { model: file.model, ids };
    if (file === this.active) this.widget.revealLineInCenterIfOutsideViewport(line);
  }

  #clearFailure(): void {
    const { model, ids } = this.#failure ?? {};
    this.#failure = null;
    if (model && !model.isDisposed()) model.deltaDecorations(ids ?? [], []);
  }

  /** Shows a place and puts the cursor there. */
  go(index: number, line: number, column = 1): void {
    this.show(index);
    const model = this.widget.getModel();
    line = Math.min(line, model?.getLineCount() ?? line);
    this.widget.revealLineInCenter(line);
    this.widget.setPosition({ lineNumber: line, column: model ? columnOf(model, line, column) : column });
    this.#flash.set([{ range: new monaco.Range(line, 1, line, 1), options: { isWholeLine: true, className: "line-flash" } }]);
    this.widget.focus();
  }

  /** Can be undone. Columns are counted in characters, from 1. */
  replace(file: OpenFile, line: number, from: number, to: number, text: string): void {
    if (line > file.model.getLineCount()) return;
    file.model.pushEditOperations([], [{ range: new monaco.Range(line, columnOf(file.model, line, from), line, columnOf(file.model, line, to)), text }], () => null);
  }

  command(label: string, id: string, keys: number[], run: () => void): void {
    this.widget.addAction({ id, label, keybindings: keys, run, contextMenuGroupId: "navigation" });
  }

  assist(assistant: Assistant): void {
    const points = (text: string): number => [...text].length;
    const units = (text: string, count: number): number => [...text].slice(0, count).join("").length;
    for (const syntax of syntaxes) {
      monaco.languages.registerCompletionItemProvider(syntax, {
        triggerCharacters: ["."],
        provideCompletionItems: async (model, position) => {
          const code = model.getValue();
          const found = await assistant.complete(code, points(code.slice(0, model.getOffsetAt(position))));
          if (!found) return { suggestions: [] };
          const start = model.getPositionAt(units(code, found.start));
          const end = model.getPositionAt(units(code, found.end));
          const range = monaco.Range.fromPositions(start, end);
          return {
            suggestions: found.matches.map((match, at) => ({
              label: match,
              insertText: match,
              kind: monaco.languages.CompletionItemKind.Variable,
              detail: "session",
              sortText: String(at).padStart(5, "0"),
              range,
            })),
          };
        },
      });
      monaco.languages.registerHoverProvider(syntax, {
        provideHover: async (model, position) => {
          const code = model.getValue();
          const text = await assistant.inspect(code, points(code.slice(0, model.getOffsetAt(position))));
          // As code, so that nothing in it is Markdown.
          return text ? { contents: [{ value: `\`\`\`\n${text.replaceAll("```", "'''").slice(0, 4000)}\n\`\`\`` }] } : null;
        },
      });
      monaco.languages.registerDocumentFormattingEditProvider(syntax, {
        provideDocumentFormattingEdits: async (model) => {
          const text = await assistant.format(model.getValue());
          return text === null ? [] : [{ range: model.getFullModelRange(), text }];
        },
      });
    }
  }
}

export const Keys = {
  save: monaco.KeyMod.CtrlCmd | monaco.KeyCode.KeyS,
  run: monaco.KeyMod.CtrlCmd | monaco.KeyCode.Enter,
  runSelection: monaco.KeyMod.Shift | monaco.KeyCode.Enter,
};
