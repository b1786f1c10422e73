/** How files of a type end. */
const endings: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "video/mp4": "mp4",
  "video/quicktime": "mov",
  "video/webm": "webm",
};

const MOST_CHARACTERS = 60;

/** What a file of `type` that shows `title` is called, where any system takes it: `a-reef-at-dawn.png`. */
export function fileNameOf(title: string, type: string, url: string): string {
  const words = title.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const name = [...words.join("-")].slice(0, MOST_CHARACTERS).join("").replace(/-$/, "") || "untitled";
  const ending =
    endings[type.replace(/;.*/, "")] ?? /\.(\w{1,5})$/.exec(new URL(url, location.href).pathname)?.[1];
  return ending ? `${name}.${ending}` : name;
}
