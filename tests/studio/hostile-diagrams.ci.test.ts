import { describe, expect, test } from "vitest";
import { askInNewChat, hasChromium, openRoom } from "../support/studio-suite.ts";

/* Diagrams of a response that ask the browser for another host: by styles, fonts and pictures. */

const FOREIGN = "https://elsewhere.example";
const flow = "flowchart TD\n  A --> B";
const diagrams: Readonly<Record<string, string>> = {
  "styles in a directive": `%%{init: {"themeCSS":"*{background:url(${FOREIGN}/css)}"}}%%\n${flow}`,
  "styles in the front matter": `---\nconfig:\n  themeCSS: "*{background:url(${FOREIGN}/css)}"\n---\n${flow}`,
  "a font's name": `%%{init: {"fontFamily":"a;background:url(${FOREIGN}/font);b"}}%%\n${flow}`,
  "a theme's color": `%%{init: {"theme":"base","themeVariables":{"primaryColor":"url(${FOREIGN}/color)"}}}%%\n${flow}`,
  "a picture of a node": `flowchart TD\n  A@{ img: "${FOREIGN}/shape", label: "x", h: 60 }`,
  "an imported style sheet": `%%{init: {"themeCSS":"@import url(${FOREIGN}/sheet.css);"}}%%\n${flow}`,
  "a label with HTML": `flowchart TD\n  A["<img src='${FOREIGN}/label'>"] --> B`,
  "the style of a node": `${flow}\n  style A fill:url(${FOREIGN}/fill)`,
};

describe.skipIf(!hasChromium)("a diagram of a response, in Chromium (skipped where there is none)", () => {
  const studio = openRoom(
    "chat",
    {
      speed: Number.POSITIVE_INFINITY,
      chat: ({ messages }) => {
        const name = String(messages.at(-1)?.content);
        return `${name}:\n\n\`\`\`mermaid\n${diagrams[name]}\n\`\`\`\n`;
      },
    },
    /Failed to load resource|Content Security Policy/,
  );

  test.each(Object.keys(diagrams))("asks no other host for anything: %s", async (name) => {
    const foreign: string[] = [];
    await studio.page.context().route(`${FOREIGN}/**`, (route) => {
      foreign.push(route.request().url());
      return route.fulfill({ body: "" });
    });
    await askInNewChat(studio, name);
    const answer = studio.page.getByRole("article", { name: "Assistant's answer" });
    const drawn = answer.getByRole("img", { name: /^Diagram of / });
    await drawn.or(answer.getByRole("figure", { name: "Code: mermaid" })).waitFor();
    await studio.page.waitForLoadState("networkidle");
    expect(foreign).toEqual([]);
  });
});
