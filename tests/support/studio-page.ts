import type { Browser, Dialog, Locator, Page } from "playwright";

/** A page of the studio, and what a person does on it. */
export interface StudioPage {
  readonly page: Page;
  /** Everything that went over the wire, as text. */
  readonly seen: readonly string[];
  /** The bodies of the chat requests, in order. */
  readonly bodies: readonly ChatBody[];
  /** What the page reported as errors. */
  readonly problems: readonly string[];
  readonly field: Locator;
  /** The last answer. */
  readonly answer: () => Locator;
  readonly ask: (question: string) => Promise<void>;
  /** Waits until no answer is under way. */
  readonly settled: () => Promise<void>;
  /** Loads the page again, says yes to whatever the browser asks before, and tells what that was. */
  readonly leave: () => Promise<readonly string[]>;
  /** Closes all tabs, and forgets the storage. */
  readonly close: () => Promise<void>;
}

/** A chat request, as far as tests look into it. */
interface ChatBody {
  readonly messages: readonly unknown[];
  readonly tools?: readonly unknown[];
}

/** Opens the studio at `address`, with a storage of its own. */
export async function openStudio(
  browser: Browser,
  address: string,
  viewport = { width: 1280, height: 800 },
): Promise<StudioPage> {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  const seen: string[] = [];
  const problems: string[] = [];
  const bodies: ChatBody[] = [];
  page.on("request", async (request) => {
    seen.push(request.url(), JSON.stringify(await request.allHeaders().catch(() => "")));
  });
  page.on("response", async (response) => {
    const headers = await response.allHeaders().catch(() => "");
    seen.push(JSON.stringify(headers), await response.text().catch(() => ""));
  });
  // the browser's own tools do not show a body that was put into a Request
  await page.exposeFunction("noteBody", (text: string) => {
    seen.push(text);
    if (text !== "") bodies.push(JSON.parse(text));
  });
  await page.addInitScript(noteBodies);
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto(address);
  const field = page.getByRole("textbox", { name: "Message", exact: true });
  return {
    page,
    seen,
    bodies,
    problems,
    field,
    answer: () => page.getByRole("article", { name: "Assistant's answer" }).last(),
    async ask(question) {
      await field.fill(question);
      await field.press("Enter");
    },
    async leave() {
      const asked: string[] = [];
      const answer = (dialog: Dialog) => {
        asked.push(dialog.type());
        void dialog.accept();
      };
      page.on("dialog", answer);
      await page.reload();
      page.off("dialog", answer);
      return asked;
    },
    close: () => context.close(),
    settled: () => page.getByRole("button", { name: "Send" }).waitFor(),
  };
}

/** Runs in the page. */
function noteBodies(): void {
  const { fetch: send, noteBody } = globalThis as typeof globalThis & {
    noteBody: (text: string) => Promise<void>;
  };
  globalThis.fetch = async (...given) => {
    await noteBody(
      await new Request(given[0] instanceof Request ? given[0].clone() : given[0], given[1]).text(),
    );
    return send(...given);
  };
}
