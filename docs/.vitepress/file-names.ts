import type { MarkdownRenderer } from "vitepress";

/** Shows the file name of a code block, "```ts [src/worker.ts]", above it. Tabs of a code group have it already. */
export function fileNames(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules["fence"] = (...rendered) => {
    const [tokens, at] = rendered;
    const [, name] = /\[([\w./-]+)\]/.exec(tokens[at]?.info ?? "") ?? [];
    const group = tokens.slice(0, at).findLast(({ type }) => type.startsWith("container_code-group"));
    const isTab = group?.type.endsWith("_open") ?? false;
    return `${name && !isTab ? `<p class="code-file">${name}</p>` : ""}${fence?.(...rendered) ?? ""}`;
  };
}
