import type { Browser, Dialog, Locator, Page } from "playwright";

/** A page of the studio, with the actions of a person. */
export interface StudioPage {
  readonly page: Page;
  /** The addresses of all requests; of a page from `openStudio` everything that went over the wire, as text. */
  readonly seen: readonly string[];
  /** The bodies of the chat requests, in order. */
  readonly bodies: readonly ChatBody[];
  /** Errors that the page reported. */
  readonly problems: readonly string[];
  readonly field: Locator;
  /** The last reply. */
  readonly findReply: () => Locator;
  readonly sendMessage: (question: string) => Promise<void>;
  /** Holds requests to these URLs in the browser until the returned function is called. */
  readonly hold: (addresses: string) => Promise<() => Promise<void>>;
  /** Waits until no reply is streaming. */
  readonly settled: () => Promise<void>;
  /** Reloads the page, accepts its dialogs, and returns their types: `["beforeunload"]` if the page asked. */
  readonly reloadAndListDialogs: () => Promise<readonly string[]>;
  /** Forgets the requests and problems so far. */
  readonly forget: () => void;
  /** Keeps the next test from reusing this tab, because its state can't be undone. */
  readonly spend: () => void;
  /** Closes all tabs, or empties the tab that the next test reuses, and clears the storage. */
  readonly close: () => Promise<void>;
}

/** A chat request, as far as tests look into it. */
interface ChatBody {
  readonly model: string;
  readonly messages: readonly unknown[];
  readonly tools?: readonly unknown[];
}

const viewport = { width: 1280, height: 800 };
/** Without a graphics card, visible animations would use a quarter of a processor. */
const reducedMotion = "reduce";

/** Opens the studio at `address` in a new browser context. */
export async function openStudio(browser: Browser, address: string): Promise<StudioPage> {
  const tab = await openTab(browser);
  noteTraffic(tab);
  return open(tab, address, () => tab.page.context().close());
}

/** Opens the studio in the emptied tab of the previous test: a new tab would cost each test a second. */
export async function reopenStudio(
  browser: Browser,
  address: string,
  width = viewport.width,
): Promise<StudioPage> {
  const sharedTab = idle?.page.context().browser() === browser ? idle : undefined;
  idle = undefined;
  const tab = sharedTab ?? (await openTab(browser));
  await tab.page.setViewportSize({ ...viewport, width });
  return open(tab, address, async () => {
    tab.notes = createEmptyNotes();
    if (tab.isSpent || tab.page.isClosed()) return tab.page.context().close();
    await emptyPage(tab, address);
    // late messages of the previous page
    tab.notes = createEmptyNotes();
    idle = tab;
  });
}

let idle: Tab | undefined;

interface Tab {
  readonly page: Page;
  notes: ReturnType<typeof createEmptyNotes>;
  isSpent: boolean;
}

const createEmptyNotes = () => ({ seen: [] as string[], problems: [] as string[], bodies: [] as ChatBody[] });

async function openTab(browser: Browser): Promise<Tab> {
  const page = await (await browser.newContext({ viewport, reducedMotion })).newPage();
  const tab: Tab = { page, notes: createEmptyNotes(), isSpent: false };
  page.on("request", (request) => tab.notes.seen.push(request.url()));
  // the browser's own tools do not show a body that was put into a Request
  await page.exposeFunction("noteBody", (text: string) => {
    tab.notes.seen.push(text);
    if (text !== "") tab.notes.bodies.push(JSON.parse(text));
  });
  await page.addInitScript(noteBodies);
  page.on("pageerror", (error) => tab.notes.problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && tab.notes.problems.push(message.text()));
  return tab;
}

/** Records headers and bodies, too. Reading them takes the browser as long as loading them. */
function noteTraffic({ page, notes: { seen } }: Tab): void {
  page.on("request", async (request) => {
    seen.push(JSON.stringify(await request.allHeaders().catch(() => "")));
  });
  page.on("response", async (response) => {
    const headers = await response.allHeaders().catch(() => "");
    seen.push(JSON.stringify(headers), await response.text().catch(() => ""));
  });
}

/** Leaves the page, and forgets all that it and its other tabs have stored. */
async function emptyPage({ page }: Tab, address: string): Promise<void> {
  const context = page.context();
  const others = context.pages().filter((other) => other !== page);
  await Promise.all(others.map((other) => other.close()));
  await page.evaluate(() => sessionStorage.clear());
  const accept = (dialog: Dialog) => void dialog.accept();
  page.on("dialog", accept);
  await page.goto("about:blank");
  page.off("dialog", accept);
  const devtools = await context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin: new URL(address).origin, storageTypes: "all" });
  await devtools.detach();
  await Promise.all([
    context.clearPermissions(),
    page.setViewportSize(viewport),
    page.emulateMedia({ colorScheme: null, forcedColors: null, reducedMotion }),
  ]);
}

async function open(tab: Tab, address: string, close: () => Promise<void>): Promise<StudioPage> {
  const { page, notes } = tab;
  await page.goto(address);
  const field = page.getByRole("textbox", { name: "Message", exact: true });
  const releases: (() => void)[] = [];
  return {
    page,
    ...notes,
    field,
    findReply: () => page.getByRole("article", { name: "Assistant's message" }).last(),
    async sendMessage(question) {
      await field.fill(question);
      await field.press("Enter");
    },
    async hold(addresses) {
      const held = new Promise<void>((resolve) => {
        releases.push(resolve);
      });
      await page.route(addresses, async (route) => {
        await held;
        // the page may have canceled the request
        await route.continue().catch(() => {});
      });
      return async () => {
        for (const release of releases.splice(0)) release();
        await page.unroute(addresses);
      };
    },
    async reloadAndListDialogs() {
      const shown: string[] = [];
      const acceptDialog = (dialog: Dialog) => {
        shown.push(dialog.type());
        void dialog.accept();
      };
      page.on("dialog", acceptDialog);
      await page.reload();
      page.off("dialog", acceptDialog);
      return shown;
    },
    forget() {
      for (const list of Object.values(notes)) list.length = 0;
    },
    spend() {
      tab.isSpent = true;
    },
    close,
    settled: () => page.getByRole("button", { name: "Send" }).waitFor(),
  };
}

/** Runs in the page. */
function noteBodies(): void {
  const { fetch: send, noteBody } = globalThis as typeof globalThis & {
    noteBody: (text: string) => Promise<void>;
  };
  globalThis.fetch = async (...given) => {
    const request = new Request(given[0] instanceof Request ? given[0].clone() : given[0], given[1]);
    // a part of a file is not JSON
    if (request.headers.get("content-type") !== "application/octet-stream")
      await noteBody(await request.text());
    return send(...given);
  };
}
