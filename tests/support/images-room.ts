import type { Locator, Page } from "playwright";
import { openRoom, PNG } from "./studio-suite.ts";

/** Path of the requests for images. */
export const IMAGES = "/v1/images/generations";
const pixel = Uint8Array.from(Buffer.from(PNG, "base64"));

/** Opens the studio's images, each of one pixel, for the tests of the suite that calls this. */
export function openImages() {
  const studio = openRoom("images", { speed: Number.POSITIVE_INFINITY, image: pixel });
  const { button } = studio;
  const findPrompt = (page = studio.page): Locator => page.getByRole("textbox", { name: "Prompt" });
  const findTile = (name: string, page = studio.page): Locator =>
    page.getByRole("list", { name: "Images" }).getByRole("listitem", { name });

  async function make(text: string, page: Page = studio.page): Promise<void> {
    await findPrompt(page).fill(text);
    await button("Generate", page).click();
    await findTile(text, page).first().waitFor();
  }
  return { studio, button, findPrompt, findTile, make };
}
