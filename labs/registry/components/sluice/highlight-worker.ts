import { createCodePlugin, type HighlightResult } from "@streamdown/code";

/* Highlights code in a worker, because compiling the grammar of a language would block the page. */

/** Code to highlight. */
export interface HighlightRequest {
  readonly id: number;
  readonly code: string;
  readonly language: string;
  /** True while the code still grows. */
  readonly isIncomplete: boolean;
}

/** The code in colored pieces. */
export interface HighlightResponse {
  readonly id: number;
  readonly tokens: HighlightResult["tokens"];
}

/** Themes with enough contrast in each color. */
const themes: ["github-light-default", "github-dark-default"] = [
  "github-light-default",
  "github-dark-default",
];
const highlighter = createCodePlugin({ themes });

addEventListener("message", ({ data }: MessageEvent<HighlightRequest>) => {
  const { id, code, isIncomplete } = data;
  const language = data.language as Parameters<typeof highlighter.supportsLanguage>[0];
  const known = highlighter.supportsLanguage(language) ? language : "text";
  const respond = ({ tokens }: HighlightResult) => {
    const message: HighlightResponse = { id, tokens };
    postMessage(message);
  };
  const ready = highlighter.highlight(
    { code, language: known as typeof language, themes, isIncomplete },
    respond,
  );
  if (ready) respond(ready);
});
