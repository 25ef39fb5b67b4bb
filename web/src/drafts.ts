// Drafts, for each language and each tab of the browser: two tabs never overwrite each other's draft, and a draft that was
// replaced (by an example, a link, a past run) is kept beside those of the tabs.
import { read, write, type Draft } from "./state";

interface Kept {
  time: number;
  draft: Draft;
}

const MOST = 8; // drafts of a language that are kept of each kind, the newest
const PREFIX = "emberbox.draft.";
const REPLACED = "old-"; // begins the name of a draft that no tab writes to any more

const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The text of a draft, to compare it with another. */
export const content = (draft: Draft): string => JSON.stringify(draft.files.map(({ name, text }) => [name, text]));

export class Drafts {
  /** This tab's name. It is the same after a reload. */
  #id = read<string>("tab", sessionStorage) ?? newId();
  /** The drafts that this tab has written last, by language. */
  #own = new Map<string, string>();
  #full = false;

  /** `changed`: other tabs have written. `full`: the browser has no room for a draft; called once until there is room again. */
  constructor(readonly changed: () => void, readonly full: () => void) {
    write("tab", this.#id, sessionStorage);
    this.#adopt();
    window.addEventListener("storage", (event) => {
      if (!event.key?.startsWith(PREFIX)) return;
      if (event.key.endsWith(`.${this.#id}`)) {
        // A tab that was duplicated has the same name as this one: this one takes another, and both texts stay. Where
        // another tab made room by removing this one's draft, the draft is written again.
        if (event.newValue !== null) {
          this.#id = newId();
          write("tab", this.#id, sessionStorage);
        }
        for (const [language, text] of this.#own) this.#write(language, text);
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

  #write(language: string, text: string): void {
    const kept: Kept = { time: Date.now(), draft: JSON.parse(text) as Draft };
    let done = write(this.#key(language), kept);
    // Replaced drafts make room for the current one, the oldest first.
    for (const { key, replaced } of done ? [] : this.#all(language).reverse()) {
      if (!replaced) continue;
      localStorage.removeItem(key);
      if ((done = write(this.#key(language), kept))) break;
    }
    if (!done && !this.#full) this.full();
    this.#full = !done;
  }

  #all(language: string): { key: string; replaced: boolean; kept: Kept }[] {
    const start = `${PREFIX}${language}.`;
    return Object.keys(localStorage).filter((key) => key.startsWith(start))
      .map((key) => ({ key, replaced: key.startsWith(start + REPLACED), kept: read<Kept>(key.slice("emberbox.".length)) }))
      .filter((item): item is { key: string; replaced: boolean; kept: Kept } => Array.isArray(item.kept?.draft?.files))
      .sort((a, b) => b.kept.time - a.kept.time);
  }

  #makeRoom(language: string, replaced: boolean): void {
    this.#all(language).filter((item) => item.replaced === replaced).slice(MOST)
      .forEach(({ key }) => key !== `${PREFIX}${language}.${this.#id}` && localStorage.removeItem(key));
  }

  /** This tab's draft of that language, or else the newest of any tab. */
  of(language: string): Draft | null {
    return (read<Kept>(this.#key(language)) ?? this.#all(language).find((item) => !item.replaced)?.kept)?.draft ?? null;
  }

  /** Keeps this tab's draft. False: the browser has no room, and the draft is in this page only. */
  keep(language: string, draft: Draft): boolean {
    const text = JSON.stringify(draft);
    if (this.#own.get(language) === text && !this.#full) return true;
    this.#own.set(language, text);
    this.#write(language, text);
    this.#makeRoom(language, false);
    return !this.#full;
  }

  /** Keeps a draft that is about to be replaced. */
  replaced(draft: Draft): void {
    const text = content(draft);
    if (this.#all(draft.language).some((item) => item.replaced && content(item.kept.draft) === text)) return;
    write(`draft.${draft.language}.${REPLACED}${newId()}`, { time: Date.now(), draft } satisfies Kept);
    this.#makeRoom(draft.language, true);
  }

  /** Drafts that differ from this tab's, the newest first. */
  others(language: string): { draft: Draft; time: number }[] {
    const seen = new Set([content(this.of(language) ?? { language, files: [] })]);
    return this.#all(language).map(({ kept }) => kept).filter(({ draft }) => {
      const text = content(draft);
      return !seen.has(text) && seen.add(text);
    });
  }
}
