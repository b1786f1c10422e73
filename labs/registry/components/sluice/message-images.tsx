"use client";

import { Dialog } from "@/components/sluice/popups";
import { messageWords } from "@/components/sluice/words";

interface MessageImagesProps {
  /** Addresses of the images. */
  readonly images: readonly string[];
}

/** Images of a message. One that is pressed opens at its full size. */
export function MessageImages({ images }: MessageImagesProps) {
  if (images.length === 0) return null;
  return (
    <ul aria-label={messageWords.images} className="flex flex-wrap justify-end gap-2">
      {images.map((url, index) => (
        <li key={url}>
          <Dialog
            title={messageWords.image(index + 1)}
            trigger={
              <button
                type="button"
                aria-label={messageWords.openImage(index + 1)}
                className="block cursor-pointer"
              >
                <img src={url} alt="" className="size-32 rounded-xl border object-cover" />
              </button>
            }
          >
            <img
              src={url}
              alt={messageWords.attachment(index + 1)}
              className="mx-auto max-h-[65vh] rounded-lg"
            />
          </Dialog>
        </li>
      ))}
    </ul>
  );
}
