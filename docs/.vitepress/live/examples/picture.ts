import { createClient, generateImages } from "@sluice/core";
import type { Page } from "../page.ts";

export async function run({ baseURL, signal, write, show }: Page) {
  const client = createClient({ baseURL });
  const prompt = "A lake in the mountains at sunrise, in autumn";
  const request = { model: "gamma-image-4-0-250828", prompt, size: "2048x2048" } as const;
  const { images, usage } = await generateImages(client, request, { signal });
  for (const { url } of images) if (url) show({ type: "image", url, alt: prompt });
  write(`${usage?.generated_images} image, ${images[0]?.size}`);
}
