const files = import.meta.glob<string>("./answers/*.md", { eager: true, query: "?raw", import: "default" });

/** Returns the names, without `.md`, and the texts of all files of `answers/`, which are part of the build. */
export function answerFiles(): readonly (readonly [name: string, text: string])[] {
  return Object.entries(files).map(([path, text]) => [path.slice("./answers/".length, -3), text]);
}
