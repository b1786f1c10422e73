import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("the receipts in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY }, undefined, 1280);
  const rows = () =>
    studio.page.getByRole("list", { name: "Requests" }).getByRole("listitem").allInnerTexts();

  async function openReceipts(): Promise<void> {
    await studio.button("Receipts").click();
  }

  test("A response and its cost are listed, and their sum", async () => {
    await openReceipts();
    await studio.page.getByText("No requests yet").waitFor();
    await studio.field("Message").fill("Hello");
    await studio.field("Message").press("Enter");
    await expect
      .poll(rows)
      .toEqual([expect.stringMatching(/Chat · Alpha 4\.1 Flash\s+Charged[\s\S]*complete\s+0\.\d+ coins/)]);
  });

  test("A reload during an image leaves a receipt that says what may be charged", async () => {
    await studio.page.getByRole("link", { name: "Images" }).click();
    const isRequested = studio.page.waitForRequest("**/v1/images/generations");
    await studio.page.route("**/v1/images/generations", () => {});
    await studio.field("Prompt").fill("A reef");
    await studio.button("Generate").click();
    await isRequested;
    await studio.reloadAndListDialogs();
    await openReceipts();
    await expect
      .poll(rows)
      .toEqual([expect.stringMatching(/Image[\s\S]*May be charged[\s\S]*No end recorded/)]);
    // the page shows it, too
    await studio.page.getByText("It did not finish").waitFor();
  });

  test("The CSV has a row for each request that the gateway saw", async () => {
    for (const text of ["One", "Two"]) {
      await studio.field("Message").fill(text);
      await studio.field("Message").press("Enter");
      await studio.page.getByRole("button", { name: "Regenerate" }).waitFor();
      await studio.page.getByRole("log").getByText(text, { exact: true }).waitFor();
    }
    await openReceipts();
    await expect.poll(async () => (await rows()).length).toBe(2);
    const saving = studio.page.waitForEvent("download");
    await studio.button("CSV").click();
    const lines = readFileSync(await (await saving).path(), "utf8")
      .trim()
      .split("\r\n");
    expect(lines).toHaveLength(1 + studio.created("/v1/chat/completions").length);
    expect(lines[1]).toContain(",chat,alpha-v4.1-flash,complete,yes,1,200,");
  });
});
