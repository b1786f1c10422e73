import { type Browser, chromium } from "playwright";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";
import { shareOpenHandles } from "./handles.ts";

let browser: Promise<Browser> | undefined;

/** Returns the Chromium of this test worker. It is launched on demand, and closed with the worker. */
export function getSharedBrowser(): Promise<Browser> {
  browser ??= launch();
  return browser;
}

async function launch(): Promise<Browser> {
  const launched = await chromium.launch({ executablePath: findChromium() ?? "", args: chromiumFlags });
  shareOpenHandles();
  return launched;
}
