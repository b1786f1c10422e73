import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("“Break it” in Chromium (skipped where there is none)", () => {
  const expectedProblems = /Failed to load resource|ERR_/;
  const WIDTH = 1280;
  const studio = openRoom("chat", { speed: 20 }, expectedProblems, WIDTH);
  const listCalls = () => studio.page.getByRole("list", { name: "Calls" }).getByRole("listitem");

  async function play(fault: string): Promise<void> {
    await studio.page.getByRole("link", { name: "New chat" }).click();
    const group = studio.page.getByRole("group", { name: "Break it" });
    await group.getByRole("button", { name: fault, exact: true }).click();
  }

  const findAlert = () => studio.page.getByRole("main").getByRole("alert");
  /** Waits for what a user sees of each fault: in the list of calls, or in the chat. */
  const waitForFault: Readonly<Record<string, () => Promise<unknown>>> = {
    "429": () => listCalls().first().getByText("429, 200").waitFor(),
    Cut: () => findAlert().getByText("The response was cut off").waitFor(),
    Stall: () => studio.page.getByRole("main").getByText("Stopped", { exact: true }).waitFor(),
    // the proxy offers idempotency, so that the client repeats the request
    "Lost response": () =>
      listCalls()
        .first()
        .getByText(/^–, 200$/)
        .waitFor(),
    Offline: () => findAlert().waitFor(),
  };

  test.each(Object.keys(waitForFault))(
    "%s works twice in a row, and the next question has no fault",
    async (fault) => {
      for (const _ of [1, 2]) {
        await play(fault);
        if (fault === "Stall") {
          await studio.page
            .getByRole("article", { name: "Assistant's message" })
            .locator("p")
            .first()
            .waitFor();
          await studio.button("Stop").click();
        }
        await waitForFault[fault]?.();
      }
      await studio.page.getByRole("link", { name: "New chat" }).click();
      await expect
        .poll(
          async () => {
            await studio.field("Message").fill("Hello");
            await studio.field("Message").press("Enter");
            return studio.page.getByRole("button", { name: "Regenerate" }).count();
          },
          { interval: 2000 },
        )
        .toBeGreaterThan(0);
    },
  );

  test("The list names the chat of a fault after the fault", async () => {
    await play("Cut");
    const chats = studio.page.getByRole("navigation", { name: "Chats" });
    await chats.getByRole("link", { name: "Cut · Show me what you can do" }).first().waitFor();
  });

  test("Second tab opens the same chats", async () => {
    const opened = studio.page.context().waitForEvent("page");
    await studio.button("Second tab").click();
    const tab = await opened;
    await tab.getByRole("region", { name: "Welcome" }).waitFor();
    await studio.field("Message").fill("Hello");
    await studio.field("Message").press("Enter");
    await tab.getByRole("navigation", { name: "Chats" }).getByRole("link", { name: "Hello" }).waitFor();
    await tab.close();
  });
});
