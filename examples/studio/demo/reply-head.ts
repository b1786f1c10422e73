const FILE = /^---\n(.*?)\n---\n(.*)$/s;

/** Parses the fields and the text of a file of `replies/`. A field may occur several times. */
export function parseReplyFile(file: string) {
  const [, head = "", content = ""] = FILE.exec(file) ?? [];
  const fields = head.split("\n").map((line): readonly [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const listValues = (name: string) => fields.flatMap(([field, value]) => (field === name ? [value] : []));
  return { listValues, content };
}
