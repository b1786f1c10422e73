import { expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";

test.skipIf(!findChromium())(
  "Chromium runs without the features that Playwright turns off (skipped where there is none)",
  async () => {
    const session = await (await getSharedBrowser()).newBrowserCDPSession();
    const { commandLine } = await session.send("SystemInfo.getInfo");
    await session.detach();
    const [playwright = [], ours = []] = [...commandLine.matchAll(/--disable-features=([^\s"]+)/g)].map(
      ([, names = ""]) => names.split(","),
    );
    expect(playwright).not.toEqual([]);
    // Chromium uses the last of several such switches
    expect(ours).toEqual(expect.arrayContaining(playwright));
  },
);
