import type { Page } from "playwright";
import { MINUTE, openRoom } from "./studio-suite.ts";

export const PATH = "/v1/video/generations";

/** What is dropped on a field: a file, which is a JPEG of so many pixels where it has a `side`, or a link. */
interface Dropped {
  readonly file?: string;
  readonly type?: string;
  readonly side?: number;
  readonly link?: string;
}

/** The studio's videos, opened anew for each test of the suite that calls this, and what a person does there. */
export function openVideos() {
  const studio = openRoom("video", { cors: true }, /Failed to load resource|ERR_/);
  const { button, field } = studio;
  const card = (name: string, page: Page = studio.page) => page.getByRole("article", { name });

  return {
    studio,
    button,
    field,
    card,
    choose: (model: string) => studio.page.getByRole("combobox", { name: "Model" }).selectOption(model),
    async link(name: string, url: string): Promise<void> {
      await field(`${name}: link`).fill(url);
      await field(`${name}: link`).press("Enter");
    },
    drop,
    async film(prompt: string): Promise<void> {
      await field("Prompt").fill(prompt);
      await button("Generate").click();
      await card(prompt).getByText("Asked about again in").waitFor();
    },
    /** Lets everything that is being made be done. */
    async finish(prompt: string): Promise<void> {
      studio.ahead += 10 * MINUTE;
      await card(prompt).getByRole("button", { name: "Ask now" }).click();
    },
    bar: () => studio.page.getByRole("progressbar", { name: "Progress" }),
    questions: () =>
      studio.emulator.requests.filter(({ method, path }) => method === "GET" && path.startsWith(PATH)),
  };

  async function drop(name: string, data: Dropped): Promise<void> {
    const transfer = await studio.page.evaluateHandle(async ({ file, type = "", side, link: url }) => {
      const picture = side ? new OffscreenCanvas(side, side) : undefined;
      picture?.getContext("2d")?.fillRect(0, 0, 9, 9);
      const bytes = (await picture?.convertToBlob({ type })) ?? new Uint8Array(9);
      const dragged = new DataTransfer();
      if (file) dragged.items.add(new File([bytes], file, { type }));
      if (url) dragged.setData("text/uri-list", url);
      return dragged;
    }, data);
    const group = studio.page.getByRole("group", { name, exact: true });
    for (const event of ["dragenter", "dragover", "drop"])
      await group.dispatchEvent(event, { dataTransfer: transfer });
  }
}
