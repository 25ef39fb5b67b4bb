// What is being written, for each language and each tab of the browser: two tabs never write over each other's.
import { read, write, type Draft } from "./state";

interface Kept {
  time: number;
  draft: Draft;
}

const MOST = 8; // drafts of a language that are kept, the newest
const PREFIX = "emberbox.draft.";

const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const content = (draft: Draft): string => JSON.stringify(draft.files.map(({ name, text }) => [name, text]));

export class Drafts {
  /** This tab's. It is the same after a reload. */
  #id = read<string>("tab", sessionStorage) ?? newId();
  /** What this tab has written last, by language. */
  #own = new Map<string, string>();

  constructor(readonly changed: () => void) {
    write("tab", this.#id, sessionStorage);
    this.#adopt();
    window.addEventListener("storage", (event) => {
      if (!event.key?.startsWith(PREFIX)) return;
      // A tab that was duplicated has the same name as this one: it gets another, and both texts stay.
      if (event.newValue !== null && event.key.endsWith(`.${this.#id}`)) {
        this.#id = newId();
        write("tab", this.#id, sessionStorage);
        for (const [language, text] of this.#own) write(this.#key(language), { time: Date.now(), draft: JSON.parse(text) as Draft } satisfies Kept);
      }
      this.changed();
    });
  }

  /** Drafts as an older page has kept them: all of them under one name. */
  #adopt(): void {
    const old = read<Record<string, Draft>>("drafts");
    if (!old) return;
    for (const [language, draft] of Object.entries(old)) if (draft) write(`draft.${language}.before`, { time: 1, draft } satisfies Kept);
    localStorage.removeItem("emberbox.drafts");
  }

  #key = (language: string): string => `draft.${language}.${this.#id}`;

  #all(language: string): { key: string; kept: Kept }[] {
    const start = `${PREFIX}${language}.`;
    return Object.keys(localStorage).filter((key) => key.startsWith(start))
      .map((key) => ({ key, kept: read<Kept>(key.slice("emberbox.".length)) }))
      .filter((item): item is { key: string; kept: Kept } => Array.isArray(item.kept?.draft?.files))
      .sort((a, b) => b.kept.time - a.kept.time);
  }

  /** This tab's of that language, or else the newest of any. */
  of(language: string): Draft | null {
    return (read<Kept>(this.#key(language)) ?? this.#all(language)[0]?.kept)?.draft ?? null;
  }

  keep(language: string, draft: Draft): void {
    const text = JSON.stringify(draft);
    if (this.#own.get(language) === text) return;
    this.#own.set(language, text);
    write(this.#key(language), { time: Date.now(), draft } satisfies Kept);
    this.#all(language).slice(MOST).forEach(({ key }) => key !== `${PREFIX}${language}.${this.#id}` && localStorage.removeItem(key));
  }

  /** Drafts of other tabs that say something else than this one's, the newest first. */
  others(language: string): { draft: Draft; time: number }[] {
    const seen = new Set([content(this.of(language) ?? { language, files: [] })]);
    return this.#all(language).map(({ kept }) => kept).filter(({ draft }) => {
      const text = content(draft);
      return !seen.has(text) && seen.add(text);
    });
  }
}
