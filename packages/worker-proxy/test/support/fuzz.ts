import { headers, ids, keys, methods, paths, rows, starts, texts, values } from "./fuzz-words.js";
import { openRandom } from "./random.js";

/** Creates requests as bytes for a socket, each a small change of a valid request. A seed gives the same ones each time. */
export function openFuzz(seed: number, host: string) {
  const { one, rarely, below } = openRandom(seed);
  return { request };

  function request(): Buffer {
    const [usual, path, usualBody] = one(rows);
    const method = rarely(0.1) ? one(methods) : usual;
    const hasBody = usualBody !== undefined || rarely(0.05);
    let text = hasBody ? JSON.stringify(changeBody(usualBody ?? {})) : "";
    if (rarely(0.15)) text = splice(text, one(texts), rarely(0.5) ? 1 : 0);
    if (rarely(0.05)) text = text.slice(0, choosePosition(text));
    if (rarely(0.1))
      text = text.replace("{", `{${JSON.stringify(one(keys))}:${JSON.stringify(one(values))},`);
    if (rarely(0.03)) text = text.replace("{", `{"a":${"[".repeat(5000)}${"]".repeat(5000)},`);
    const bytes = Buffer.from(text, rarely(0.05) ? "latin1" : "utf8");
    const lines = [`Host: ${host}`, "Connection: close", "Authorization: Bearer user-token"];
    if (hasBody)
      lines.push(
        "Content-Type: application/json",
        `Content-Length: ${bytes.length + (rarely(0.02) ? 1 : 0)}`,
      );
    while (rarely(0.4)) lines.splice(below(lines.length + 1), rarely(0.1) ? 1 : 0, one(headers));
    const start = `${method} ${changePath(path)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
    return Buffer.concat([Buffer.from(start, "latin1"), bytes]);
  }

  function changePath(path: string): string {
    let changed = path;
    if (rarely(0.1)) changed = `/v1/video/generations/${one(ids)}`;
    if (rarely(0.05)) changed = one(starts) + changed;
    while (rarely(0.15)) changed = splice(changed, one(paths), rarely(0.5) ? 1 : 0);
    if (rarely(0.03)) changed = changed.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
    return changed.replaceAll(" ", "");
  }

  function changeBody(body: object): Record<string, unknown> {
    const changed = { ...body } as Record<string, unknown>;
    while (rarely(0.3)) {
      const key = rarely(0.5) ? one(keys) : one(Object.keys(changed).concat("model"));
      if (rarely(0.2)) delete changed[key];
      else changed[key] = rarely(0.2) ? { [one(keys)]: one(values) } : one(values);
    }
    return changed;
  }

  function splice(text: string, more: string, dropped: number): string {
    const at = choosePosition(text);
    return text.slice(0, at) + more + text.slice(at + dropped);
  }

  function choosePosition(text: string): number {
    return below(text.length + 1);
  }
}
