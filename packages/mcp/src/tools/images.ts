import { type GeneratedImage, generateImages, type ImageRequest } from "@sluice/core";
import type { FailedImage } from "@sluice/core/internal";
import type { models } from "@sluice/core/schemas";
import { type Call, type Content, requestSchema, type Tool, text, toolName } from "../base/tool.js";

/** Makes the tool of an image model. */
export function imageTool(model: keyof typeof models): Tool {
  return {
    name: toolName("image", model),
    title: `Draw with ${model}`,
    description:
      "Draws images, which takes up to some minutes. Returns their files, and shows up to 750 kB of them. Costs money for each image.",
    inputSchema: requestSchema(model),
    paid: "once",
    showsImages: true,
    async run(input, call) {
      const { client, signal, idempotencyKey, report } = call;
      report.waiting("The image is being drawn");
      const request = { ...input, model } as unknown as ImageRequest;
      const { images } = await generateImages(client, request, { signal, idempotencyKey });
      const name = `image-${crypto.randomUUID().slice(0, 8)}`;
      const content: Content[] = [];
      for (const [index, image] of images.entries())
        content.push(...(await shown(image, index + 1, name, call)));
      return { content };
    },
  };
}

async function shown(
  image: GeneratedImage | FailedImage,
  number: number,
  name: string,
  { save }: Call,
): Promise<Content[]> {
  if (image.error) return [text(`Image ${number} was not made: ${image.error.message}`)];
  const { link, says } = await save(image.url, `${name}-${number}`);
  const size = image.size ? `, ${image.size}` : "";
  return [text(`Image ${number}${size}: ${says}`), link];
}
