import { generateImages, type ImageRequest, type ImageResult } from "@sluice/core";
import type { models } from "@sluice/core/schemas";
import {
  type Call,
  type Content,
  createRequestSchema,
  createText,
  createToolName,
  type Tool,
} from "../base/tool.js";

/** Creates the tool of an image model. */
export function createImageTool(model: keyof typeof models): Tool {
  return {
    name: createToolName("image", model),
    title: `Generate images with ${model}`,
    description:
      "Generates images. This can take a few minutes. Returns their files, and shows up to 750 kB of them. Costs money for each image.",
    inputSchema: createRequestSchema(model),
    paid: "idempotency",
    showsImages: true,
    async run(input, call) {
      const { client, signal, idempotencyKey, report } = call;
      report.setMessage("The image is being generated");
      const request: object = { ...input, model };
      const { images } = await generateImages(client, request as ImageRequest, { signal, idempotencyKey });
      const name = `image-${crypto.randomUUID().slice(0, 8)}`;
      const content: Content[] = [];
      for (const [index, image] of images.entries())
        content.push(...(await saveImage(image, index + 1, name, call)));
      return { content };
    },
  };
}

/** Saves one image, or describes why the gateway did not generate it. */
async function saveImage(
  image: ImageResult["images"][number],
  number: number,
  name: string,
  { save }: Call,
): Promise<Content[]> {
  if (image.error) return [createText(`Image ${number} was not generated: ${image.error.message}`)];
  const { link, text } = await save(image.url, `${name}-${number}`);
  const size = image.size ? `, ${image.size}` : "";
  return [createText(`Image ${number}${size}: ${text}`), link];
}
