// A link that contains the code, in its fragment, which browsers send to no server.

export interface Shared {
  language: string;
  files: { name: string; text: string }[];
  stdin?: string;
  args?: string;
}

async function through(data: Uint8Array, stream: CompressionStream | DecompressionStream, most = Infinity): Promise<Uint8Array> {
  const reader = new Blob([data as BlobPart]).stream().pipeThrough(stream as unknown as TransformStream<Uint8Array, Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) throw new Error("too large");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

export async function linkOf(shared: Shared): Promise<string> {
  const squeezed = await through(new TextEncoder().encode(JSON.stringify(shared)), new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(squeezed, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `${location.origin}${location.pathname}#code=${text}`;
}

/** The code in a link; null: there is none, or it cannot be read. */
export async function sharedIn(hash: string): Promise<Shared | null> {
  const found = /(?:^#|&)code=([\w-]+)/.exec(hash);
  if (!found?.[1]) return null;
  try {
    const binary = Uint8Array.from(atob(found[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    // A small link must not decompress to a huge text.
    const text = new TextDecoder().decode(await through(binary, new DecompressionStream("deflate-raw"), 4 << 20));
    const value = JSON.parse(text) as Partial<Shared>;
    if (typeof value.language !== "string" || !Array.isArray(value.files) || value.files.length === 0) return null;
    const files = value.files.slice(0, 50).map((file) => ({ name: String(file.name), text: String(file.text) }));
    return { language: value.language, files, stdin: String(value.stdin ?? ""), args: String(value.args ?? "") };
  } catch {
    return null;
  }
}
