import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";
import { hasChromium } from "../support/studio-suite.ts";

/* The studio without a network, and when the network is back. */
describe.skipIf(!hasChromium)(
  "the studio without a network, in Chromium (skipped where there is none)",
  () => {
    let server: QuickStudio;
    let studio: StudioPage;
    const page = () => studio.page;
    const alert = () => page().getByRole("alert");
    const banner = () => page().getByText(/^No connection/);
    const setOffline = (isOffline: boolean) => page().context().setOffline(isOffline);
    const billed = () => server.emulator.requests.filter(({ method }) => method === "POST").length;
    const button = (name: string) => page().getByRole("button", { name, exact: true });

    beforeAll(async () => {
      server = await startQuickStudio({ speed: Number.POSITIVE_INFINITY, chat: createDemoScript() });
    }, 60_000);
    afterAll(() => server.close());
    beforeEach(async () => {
      server.emulator.reset();
      studio = await reopenStudio(await getSharedBrowser(), server.address);
    });
    afterEach(async () => {
      await setOffline(false);
      await page().unrouteAll({ behavior: "ignoreErrors" });
      studio.spend();
      await studio.close();
    });

    /** Sends a first question, which loads the code that shows a response, and opens a new chat. */
    async function warmUp(): Promise<void> {
      await studio.sendMessage("Hello");
      await button("Regenerate").first().waitFor();
      await page().getByRole("link", { name: "New chat" }).first().click();
      await page().getByRole("region", { name: "Welcome" }).waitFor();
      server.emulator.reset();
    }
    /** Makes the browser offline. The test responds for the server. */
    async function pretendOffline(): Promise<{ results: boolean[] }> {
      const heads = { results: [] as boolean[] };
      await page().evaluate(() => {
        Object.defineProperty(navigator, "onLine", { get: () => false, configurable: true });
      });
      await page().route("**/*", (route) => {
        if (route.request().method() !== "HEAD") return route.continue();
        return heads.results.shift() ? route.fulfill() : route.abort("internetdisconnected");
      });
      return heads;
    }
    const comeBack = () => page().evaluate(() => dispatchEvent(new Event("online")));

    test("A question without a network waits, says so, and is sent once when the network is back", async () => {
      await warmUp();
      await setOffline(true);
      await studio.sendMessage("How does a canal lock work?");
      await alert().getByText("You are offline").waitFor();
      await alert().getByText("This is sent when you are back.").waitFor();
      await expect.poll(() => alert().innerText()).not.toContain("charged");
      // no response is in flight that could resume
      await expect.poll(() => banner().innerText()).toBe("No connection");
      expect(billed()).toBe(0);
      await setOffline(false);
      await button("Regenerate").waitFor();
      await expect.poll(() => alert().count()).toBe(0);
      await expect.poll(() => banner().count()).toBe(0);
      // the network state changes without another question
      await setOffline(true);
      await banner().waitFor();
      await setOffline(false);
      await banner().waitFor({ state: "detached" });
      expect(billed()).toBe(1);
    });

    test("A message whose automatic retry also failed is not sent again by itself, and says so", async () => {
      await warmUp();
      const heads = await pretendOffline();
      await studio.sendMessage("How does a canal lock work?");
      await alert().getByText("This is sent when you are back.").waitFor();
      heads.results = [true];
      await comeBack();
      await alert().getByText("Nothing was sent. Try again.").waitFor();
      heads.results = [true];
      await comeBack();
      await alert().getByText("Not sent").waitFor();
      await alert().getByText("Nothing was sent. Try again.").waitFor();
      expect(billed()).toBe(0);
      await page().evaluate(() => {
        Object.defineProperty(navigator, "onLine", { get: () => true, configurable: true });
      });
      await button("Try again").click();
      await button("Regenerate").waitFor();
      expect(billed()).toBe(1);
    });

    test("A question that waited for the network when the page was loaded anew is not sent by itself", async () => {
      await warmUp();
      await pretendOffline();
      await studio.sendMessage("How does a canal lock work?");
      await alert().getByText("This is sent when you are back.").waitFor();
      await page().unrouteAll({ behavior: "ignoreErrors" });
      await page().reload();
      await button("Try again").waitFor();
      await expect
        .poll(() =>
          page()
            .getByRole("main")
            .getByText(/charged|when you are back/)
            .count(),
        )
        .toBe(0);
      expect(billed()).toBe(0);
    });

    test("An image that was not sent without a network says so, and promises nothing", async () => {
      await page().goto(`${server.address}/#/images`);
      await page().getByRole("textbox", { name: "Prompt" }).fill("A reef");
      await setOffline(true);
      await button("Generate").click();
      await alert().getByText("Nothing was billed.").waitFor();
      await setOffline(false);
      await expect
        .poll(() =>
          page()
            .getByText(/charged/)
            .count(),
        )
        .toBe(0);
      expect(billed()).toBe(0);
      await button("Try again").click();
      await page().getByRole("listitem", { name: "A reef" }).waitFor();
      expect(billed()).toBe(1);
    });
  },
);
