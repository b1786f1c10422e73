import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

/* Responses and files that ask the browser for another host, or that change what the page shows. */

const FOREIGN = "https://elsewhere.example";
const flow = "flowchart TD\n  A --> B";
const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``;

const contents: Readonly<Record<string, string>> = {
  "styles of a diagram": fence(
    "mermaid",
    `%%{init: {"themeCSS":"*{background:url(${FOREIGN}/1)}"}}%%\n${flow}`,
  ),
  "a style sheet of a diagram": fence(
    "mermaid",
    `%%{init: {"themeCSS":"@import url(${FOREIGN}/2);"}}%%\n${flow}`,
  ),
  "a font of a diagram": fence(
    "mermaid",
    `%%{init: {"fontFamily":"a;background:url(${FOREIGN}/3)"}}%%\n${flow}`,
  ),
  "a picture of a diagram": fence("mermaid", `flowchart TD\n  A@{ img: "${FOREIGN}/4", label: "x", h: 60 }`),
  "a picture of a formula": `$$\\includegraphics{${FOREIGN}/5} \\href{${FOREIGN}/6}{x} \\htmlStyle{background:url(${FOREIGN}/7)}{y}$$`,
  "an SVG": `<svg xmlns="http://www.w3.org/2000/svg"><image href="${FOREIGN}/8"/><use href="${FOREIGN}/9#a"/><style>@import url(${FOREIGN}/10)</style></svg>`,
  "an SVG in a data URI": `![x](data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg"><image href="${FOREIGN}/11"/></svg>`)})`,
  "HTML elements": `<img src="${FOREIGN}/12"><iframe src="${FOREIGN}/13"></iframe><link rel="stylesheet" href="${FOREIGN}/14"><video src="${FOREIGN}/15" autoplay></video><object data="${FOREIGN}/16"></object><base href="${FOREIGN}/"><meta http-equiv="refresh" content="0;url=${FOREIGN}/17">`,
  "a style of HTML": `<div style="background:url(${FOREIGN}/18)">x</div><style>*{background:url(${FOREIGN}/19)}</style>`,
  "a script of HTML": `<script src="${FOREIGN}/20"></script><img src=x onerror="fetch('${FOREIGN}/21')">`,
  "a Markdown picture": `![a picture](${FOREIGN}/22) ![reference][r]\n\n[r]: ${FOREIGN}/23`,
  links: `[one](${FOREIGN}/24) <${FOREIGN}/25> [two](javascript:fetch('${FOREIGN}/26'))`,
};

/** Counts requests to the foreign host. */
async function countForeign(page: Page): Promise<readonly string[]> {
  const foreign: string[] = [];
  await page.context().route(`${FOREIGN}/**`, (route) => {
    foreign.push(route.request().url());
    return route.fulfill({ body: "" });
  });
  return foreign;
}

describe.skipIf(!hasChromium)("hostile content, in Chromium (skipped where there is none)", () => {
  const studio = openRoom(
    "chat",
    {
      speed: Number.POSITIVE_INFINITY,
      chat: ({ messages }) => `Before\n\n${contents[String(messages.at(-1)?.content)]}\n\nAfter`,
    },
    /Failed to load resource|Content Security Policy/,
  );
  const response = () => studio.page.getByRole("article", { name: "Assistant's message" });

  async function sendMessage(text: string): Promise<void> {
    await studio.field("Message").fill(text);
    await studio.field("Message").press("Enter");
    await studio.button("Regenerate").waitFor();
    await response().locator("p").getByText("After").waitFor();
  }

  test.each(Object.keys(contents))(
    "A response asks no other host for anything without a click: %s",
    async (name) => {
      const foreign = await countForeign(studio.page);
      await sendMessage(name);
      await studio.page.waitForLoadState("networkidle");
      expect(foreign).toEqual([]);
      expect(
        await response().locator("a[href^='javascript:'], iframe, script, style, object, form").count(),
      ).toBe(0);
    },
  );

  test("The policy of the page refuses an image of another host, whatever renders it", async () => {
    const foreign = await countForeign(studio.page);
    const isRefused = await studio.page.evaluate(
      (url) =>
        new Promise<boolean>((resolve) => {
          addEventListener("securitypolicyviolation", () => resolve(true));
          const image = new Image();
          image.onload = () => resolve(false);
          image.src = url;
          document.body.append(image);
        }),
      `${FOREIGN}/direct`,
    );
    expect(isRefused).toBe(true);
    expect(foreign).toEqual([]);
  });

  test("An image of a response that the policy refuses becomes a link after a click", async () => {
    await sendMessage("a Markdown picture");
    await response()
      .getByRole("button", { name: /elsewhere\.example/ })
      .first()
      .click();
    const link = response().getByRole("link", { name: "a picture" });
    await expect.poll(() => link.getAttribute("href")).toBe(`${FOREIGN}/22`);
    expect(await link.getAttribute("rel")).toBe("noreferrer");
  });

  test("A title that turns the direction of text stays in its own element", async () => {
    const title = "safe \u202Egnp.exe";
    await studio.field("Message").fill(title);
    await studio.field("Message").press("Enter");
    await studio.button("Regenerate").waitFor();
    const heading = studio.page.getByRole("heading", { level: 1 });
    await expect.poll(() => heading.textContent()).toBe(title);
    // isolates as `bdi` does, and cuts a long title at its end
    expect(await heading.getAttribute("dir")).toBe("auto");
  });
});
