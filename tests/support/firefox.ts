import { existsSync } from "node:fs";
import { type Browser, firefox } from "playwright";
import { shareOpenHandles } from "./handles.ts";

/*
 * The installed Firefox, driven by Playwright through WebDriver BiDi. Commands that Playwright lacks are sent through its
 * internal session, because Firefox allows only one.
 */

/** Path of the program in Debian. */
const PROGRAM = "/usr/bin/firefox-esr";
/** Command with which Playwright sets the colors of a page; the Firefox of Debian has none. */
const MISSING = "emulation.setMediaFeaturesOverride";

export const hasFirefox = existsSync(PROGRAM);

let browser: Promise<Browser> | undefined;

/** Returns the Firefox of this test worker. It is launched on demand, and closed with the worker. */
export function getSharedFirefox(): Promise<Browser> {
  browser ??= launch();
  return browser;
}

async function launch(): Promise<Browser> {
  const launched = await firefox.launch({
    channel: "moz-firefox",
    executablePath: PROGRAM,
    // of the browser itself, to end a Service Worker
    args: ["--remote-allow-system-access"],
    firefoxUserPrefs: { "ui.prefersReducedMotion": 1 },
  });
  const session = openSession(launched);
  const send = session.send.bind(session);
  session.send = async (method, given) => (method === MISSING ? {} : send(method, given));
  shareOpenHandles();
  return launched;
}

/** Ends the Service Workers of all pages, as the browser does when it likes. */
export async function endServiceWorkers(): Promise<void> {
  await runBesidePages(endAll);
}

/** Loads the page of each window past its Service Worker, as Shift and Reload do. */
export async function reloadPastServiceWorkers(): Promise<void> {
  await runBesidePages(() => gBrowser.reloadWithFlags(Ci.nsIWebNavigation.LOAD_FLAGS_BYPASS_CACHE));
}

/** Runs a function in the browser itself, once for each of its windows. */
async function runBesidePages(work: () => unknown): Promise<void> {
  const session = openSession(await getSharedFirefox());
  const { contexts } = await session.send("browsingContext.getTree", { "moz:scope": "chrome" });
  for (const { context } of contexts) {
    const { exceptionDetails } = await session.send("script.evaluate", {
      expression: `(${work})()`,
      target: { context },
      awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
  }
}

interface Session {
  // biome-ignore lint/suspicious/noExplicitAny: the shapes of WebDriver BiDi
  send(method: string, given: object): Promise<any>;
}

function openSession(of: Browser): Session {
  const inside = of as unknown as {
    readonly _connection: { toImpl(it: Browser): { readonly _browserSession: Session } };
  };
  return inside._connection.toImpl(of)._browserSession;
}

/* Firefox's own interfaces, as far as they are used here. */
// biome-ignore lint/suspicious/noExplicitAny: they have no types
declare const Cc: any, Ci: any, gBrowser: any;

async function endAll(): Promise<void> {
  const manager = Cc["@mozilla.org/serviceworkers/manager;1"].getService(Ci.nsIServiceWorkerManager);
  const all = manager.getAllRegistrations();
  for (let at = 0; at < all.length; at += 1)
    await all.queryElementAt(at, Ci.nsIServiceWorkerRegistrationInfo).activeWorker?.terminateWorker();
}
