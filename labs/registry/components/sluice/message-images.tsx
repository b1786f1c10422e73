"use client";

import { lazy, Suspense, useState } from "react";
import { messageWords } from "@/components/sluice/words";

/** Loads when an image is pressed for the first time. Most messages have no image. */
const Dialog = lazy(async () => ({ default: (await import("@/components/sluice/popups")).Dialog }));

interface MessageImagesProps {
  /** Addresses of the images. */
  readonly images: readonly string[];
}

/** Images of a message. A press opens an image at full size. */
export function MessageImages({ images }: MessageImagesProps) {
  // stays set while the dialog closes, so that it does not lose its image
  const [chosen, setChosen] = useState<number>();
  const [isOpen, setIsOpen] = useState(false);
  if (images.length === 0) return null;
  return (
    <>
      <ul aria-label={messageWords.images} className="flex flex-wrap justify-end gap-2">
        {images.map((url, index) => (
          <li key={url}>
            <button
              type="button"
              aria-label={messageWords.openImage(index + 1)}
              aria-haspopup="dialog"
              className="block cursor-pointer"
              onClick={() => {
                setChosen(index);
                setIsOpen(true);
              }}
            >
              <img src={url} alt="" className="size-32 rounded-xl border object-cover" />
            </button>
          </li>
        ))}
      </ul>
      <Suspense>
        {chosen !== undefined && (
          <Dialog title={messageWords.image(chosen + 1)} isOpen={isOpen} onOpenChange={setIsOpen}>
            <img
              src={images[chosen]}
              alt={messageWords.attachment(chosen + 1)}
              className="mx-auto max-h-[65vh] rounded-lg"
            />
          </Dialog>
        )}
      </Suspense>
    </>
  );
}
