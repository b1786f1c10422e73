import { type Browser, chromium } from "playwright";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";
import { shareOpenHandles } from "./handles.ts";

let browser: Promise<Browser> | undefined;

/** The one Chromium of this test worker: launched for the first file that asks, and ended with the worker. */
export function getSharedBrowser(): Promise<Browser> {
  browser ??= launch();
  return browser;
}

async function launch(): Promise<Browser> {
  const launched = await chromium.launch({ executablePath: findChromium() ?? "", args: chromiumFlags });
  shareOpenHandles();
  return launched;
}
