/** An array or object that grows in place. */
type Container = unknown[] | Record<string, unknown>;

/**
 * The floor of partial JSON: a parser that reads each character once and changes its value in place. It trusts its
 * input, and knows no escape but `\n` and `\"`.
 */
export function createInPlaceJSON() {
  const root: Record<string, unknown> = {};
  const open: Container[] = [];
  let inner: Container = root;
  let key: string | number = "value";
  let text: string | undefined;
  let isKey = false;
  let isEscaped = false;
  let token = "";

  return { push, root };

  function push(piece: string): void {
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (text !== undefined) {
        if (isEscaped) {
          text += code === 0x6e ? "\n" : piece[at];
          isEscaped = false;
          start = at + 1;
        } else if (code === 0x5c || code === 0x22) {
          text += piece.slice(start, at);
          if (code === 0x5c) isEscaped = true;
          else endText();
        }
      } else if (code === 0x22) {
        text = "";
        isKey = !Array.isArray(inner) && key === "";
        start = at + 1;
      } else readSign(piece[at] as string);
    }
    if (text === undefined || isEscaped) return;
    text += piece.slice(start);
    if (!isKey) put(text);
  }

  function readSign(sign: string): void {
    if (sign === "{" || sign === "[") begin(sign === "{" ? {} : []);
    else if (sign === "}" || sign === "]" || sign === ",") endToken(sign);
    else if (sign !== ":") token += sign;
  }

  function begin(container: Container): void {
    put(container);
    open.push(inner);
    inner = container;
    key = Array.isArray(inner) ? 0 : "";
  }

  function endToken(sign: string): void {
    if (token !== "") put(JSON.parse(token));
    token = "";
    if (sign !== ",") inner = open.pop() ?? root;
    else if (Array.isArray(inner)) key = inner.length;
    if (!Array.isArray(inner)) key = "";
  }

  function endText(): void {
    if (isKey) key = text as string;
    else put(text);
    text = undefined;
  }

  function put(value: unknown): void {
    (inner as Record<string | number, unknown>)[key] = value;
  }
}
