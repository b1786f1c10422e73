/** @module-tag long */
import { describe, expect, test } from "vitest";
import { hasChromium } from "./support/studio-suite.ts";
import { openVideos, PATH } from "./support/studio-video.ts";

describe.skipIf(!hasChromium)("the studio's videos by form in Chromium (skipped where there is none)", () => {
  const { studio, button, field, card, choose, link, drop, film, finish } = openVideos();

  test("have a form of what the model takes, and the rules are said at the fields", async () => {
    await field("Prompt").fill("A reef");
    await field("Duration").fill("31");
    await studio.page.getByText("a whole number of seconds from 2 to 30").waitFor();
    expect(await field("Duration").getAttribute("aria-invalid")).toBe("true");
    await button("Generate").click();
    await expect.poll(() => field("Duration").evaluate((it) => it === document.activeElement)).toBe(true);
    await field("Duration").fill("");
    await studio.page.getByText("Frames", { exact: true }).click();
    await field("Last frame: link").fill("https://example.com/last.png");
    await field("Last frame: link").press("Enter");
    await studio.page.getByText("has a last_frame without a first_frame").waitFor();
    await field("First frame: link").fill("https://example.com/first.png");
    await field("First frame: link").press("Enter");
    expect(await studio.page.getByText("has a last_frame without a first_frame").count()).toBe(0);
    await studio.page.getByRole("combobox", { name: "Model" }).selectOption("gamma-video-2.0");
    expect(await field("Seed").count()).toBe(0);
    await studio.page.getByText("References", { exact: true }).click();
    await field("Reference images: link").fill("ftp://example.com/a.png");
    await field("Reference images: link").press("Enter");
    const references = studio.page.getByRole("group", { name: "Reference images" });
    await references.getByText("must be an http(s) URL").waitFor();
    await button("Remove ftp://example.com/a.png").click();
    await studio.page.getByRole("switch", { name: "Sound" }).check();
    await button("Generate").click();
    await card("A reef").getByText("Asked about again in").waitFor();
    const image = (role: string) => ({
      type: "image_url",
      image_url: { url: `https://example.com/${role.replace("_frame", "")}.png` },
      role,
    });
    expect(studio.created(PATH)).toEqual([
      {
        model: "gamma-video-2.0",
        content: [{ type: "text", text: "A reef" }, image("first_frame"), image("last_frame")],
        generate_audio: true,
        // what the model does by itself nobody knows: it is told what the form shows
        return_last_frame: false,
        watermark: false,
      },
    ]);
  });

  test("start from videos and sounds, by link, where the model takes them", async () => {
    await choose("gamma-video-fast");
    await field("Prompt").fill("She waves");
    await studio.page.getByText("References", { exact: true }).click();
    await link("Reference sounds", "https://example.com/steps.mp3");
    await studio.page.getByText("has audio without an image or a video").waitFor();
    await link("Reference videos", "https://example.com/walk.mp4");
    expect(await studio.page.getByText("has audio without an image or a video").count()).toBe(0);
    await button("Generate").click();
    await card("She waves").getByText("Asked about again in").waitFor();
    expect(studio.created(PATH)).toMatchObject([
      {
        content: [
          { type: "text", text: "She waves" },
          { type: "video_url", video_url: { url: "https://example.com/walk.mp4" } },
          { type: "audio_url", audio_url: { url: "https://example.com/steps.mp3" } },
        ],
      },
    ]);
    await choose("gamma-video-1-5-pro-251215");
    expect(await studio.page.getByText("References", { exact: true }).count()).toBe(0);
  });

  test("search the web where the model does, and from words alone", async () => {
    const search = studio.page.getByRole("switch", { name: "Search the web" });
    expect(await search.count()).toBe(0);
    await choose("gamma-video-fast");
    await search.check();
    await film("The weather of today");
    await studio.page.getByText("Frames", { exact: true }).click();
    await link("First frame", "https://example.com/sky.png");
    expect(await search.count()).toBe(0);
    await film("The weather of tomorrow");
    const tools = studio.created(PATH).map((body) => (body as { tools?: unknown }).tools);
    expect(tools).toEqual([[{ type: "web_search" }], undefined]);
  });

  test("give their last frame too, where that is asked for", async () => {
    await choose("gamma-video-2.0");
    await studio.page.getByRole("switch", { name: "Give the last frame too" }).check();
    await film("A reef at dawn");
    await finish("A reef at dawn");
    const frame = card("A reef at dawn").getByRole("link", { name: "Last frame" });
    expect((await fetch((await frame.getAttribute("href")) ?? "")).headers.get("content-type")).toBe(
      "image/png",
    );
    await choose("gamma-video-fast");
    expect(await studio.page.getByRole("switch", { name: "Give the last frame too" }).count()).toBe(0);
    await film("A reef at dusk");
    await finish("A reef at dusk");
    await card("A reef at dusk").locator("video").waitFor();
    expect(await frame.count()).toBe(1);
    expect(await card("A reef at dusk").getByRole("link", { name: "Last frame" }).count()).toBe(0);
  });

  test("start from what is dropped on a field, or the page says why not", async () => {
    await studio.page.getByText("Frames", { exact: true }).dispatchEvent("dragenter");
    await drop("First frame", { file: "first.jpg", type: "image/jpeg", side: 300 });
    await studio.page.getByRole("list", { name: "First frame to send" }).getByText("first.jpg").waitFor();
    await drop("Last frame", { file: "last.txt", type: "text/plain" });
    await studio.page.getByText("“last.txt” is none of PNG, JPEG, WEBP.").waitFor();
    await drop("Last frame", { link: "https://example.com/last.png" });
    await studio.page.getByRole("list", { name: "Last frame to send" }).getByText("example.com").waitFor();
    await studio.page.getByText("References", { exact: true }).click();
    await drop("Document", { file: "plan.pdf", type: "application/pdf" });
    await studio.page.getByText("“plan.pdf” is on this machine only").waitFor();
    await field("Prompt").fill("A reef");
    await button("Generate").click();
    await card("A reef").getByText("Asked about again in").waitFor();
    expect(studio.created(PATH)).toMatchObject([
      {
        input: {
          media: [
            { type: "first_frame", url: expect.stringContaining("data:image/jpeg;base64,") },
            { type: "last_frame", url: "https://example.com/last.png" },
          ],
        },
      },
    ]);
  });

  test("whose files break a rule are not asked for, and nothing is billed", async () => {
    await studio.page.getByText("Frames", { exact: true }).dispatchEvent("dragenter");
    await drop("First frame", { file: "tiny.jpg", type: "image/jpeg", side: 100 });
    await studio.page.getByRole("list", { name: "First frame to send" }).getByText("tiny.jpg").waitFor();
    await field("Prompt").fill("A reef");
    await button("Generate").click();
    const alert = studio.page.getByRole("alert");
    await alert.getByText("Not sent: nothing is billed.").waitFor();
    expect(await alert.innerText()).toMatch(/input\.media\.0 .*240/);
    expect(studio.created(PATH)).toEqual([]);
  });

  test("can be filled in and ordered with keys alone", async () => {
    const { keyboard } = studio.page;
    await field("Prompt").focus();
    await keyboard.type("A reef");
    const walked: string[] = [];
    while (walked.length < 30 && walked.at(-1) !== "Generate") {
      await keyboard.press("Tab");
      walked.push(
        await studio.page.evaluate(() => {
          const it = document.activeElement as HTMLInputElement;
          return it.getAttribute("aria-label") ?? it.labels?.[0]?.textContent ?? it.textContent ?? "";
        }),
      );
    }
    expect(walked).toEqual([
      "Model",
      "Resolution",
      "Ratio",
      "Duration",
      "Seed",
      "Sound",
      "Let the model extend the prompt",
      "Watermark",
      "Frames",
      "References",
      "Generate",
    ]);
    await keyboard.press("Enter");
    await card("A reef").getByText("Asked about again in").waitFor();
  });
});
