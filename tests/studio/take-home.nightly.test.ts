import { readFile } from "node:fs/promises";
import { strFromU8, unzipSync } from "fflate";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasChromium, MINUTE, openRoom } from "../support/studio-suite.ts";

/* The ways to take the code of a room elsewhere. What a project does is in projects.nightly.test.ts. */

describe.skipIf(!hasChromium)("the Code tab in Chromium (skipped where there is none)", () => {
  const room = openRoom("images", { speed: Number.POSITIVE_INFINITY });

  async function openCode(target: string) {
    await room.page.getByRole("button", { name: "Inspector", exact: true }).click();
    await room.page.getByRole("button", { name: target, exact: true }).click();
  }

  test("saves the code as a zip of a whole project, with the packages in it", {
    timeout: MINUTE,
  }, async () => {
    await openCode("React");
    const [download] = await Promise.all([
      room.page.waitForEvent("download", { timeout: 40_000 }),
      room.button("Save as project").click(),
    ]);
    expect(download.suggestedFilename()).toBe("sluice-images-react.zip");
    const files = unzipSync(await readFile(await download.path()));
    const text = (path: string) => strFromU8(files[`sluice-images-react/${path}`] ?? new Uint8Array());
    expect(text("src/app.tsx")).toContain("useImages");
    expect(text("src/main.tsx")).toContain("createRoot");
    expect(JSON.parse(text("package.json")).dependencies).toMatchObject({
      "@sluice/core": "file:packages/core",
      react: expect.stringMatching(/^\d/),
    });
    expect(JSON.parse(text("packages/react/package.json")).dependencies).toEqual({
      "@sluice/core": "^0.0.0",
    });
    expect(text("packages/core/dist/entries/index.js")).not.toContain("sourceMappingURL");
  });

  test("sends a project to StackBlitz after a click, and nothing before", { timeout: MINUTE }, async () => {
    const context = room.page.context();
    const posts: string[] = [];
    await context.route("https://stackblitz.com/**", (route) => {
      posts.push(route.request().postData() ?? "");
      return route.fulfill({ body: "opened", contentType: "text/html" });
    });
    onTestFinished(() => context.unroute("https://stackblitz.com/**"));
    await openCode("Script");
    expect(posts).toEqual([]);
    const [tab] = await Promise.all([
      context.waitForEvent("page", { timeout: 40_000 }),
      room.button("Open in StackBlitz").click(),
    ]);
    await tab.getByText("opened").waitFor();
    expect(tab.url()).toBe("https://stackblitz.com/run");
    await tab.close();
    const [sent = ""] = posts;
    expect(posts).toHaveLength(1);
    const fields = new URLSearchParams(sent);
    expect(fields.get("project[template]")).toBe("node");
    expect(fields.get("project[files][script.ts]")).toContain("generateImages");
  });

  test("has no StackBlitz for a Worker and a shell, and none without a network", async () => {
    await openCode("Worker");
    await room.button("Save as project").waitFor();
    await expect.poll(() => room.button("Open in StackBlitz").count()).toBe(0);
    await room.page.getByRole("button", { name: "React", exact: true }).click();
    await room.button("Open in StackBlitz").waitFor();
    await room.page.context().setOffline(true);
    onTestFinished(() => room.page.context().setOffline(false));
    await room.button("Open in StackBlitz").waitFor({ state: "detached" });
    await room.button("Save as project").waitFor();
  });
});
