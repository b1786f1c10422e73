"use client";

import "yet-another-react-lightbox/styles.css";
import { Lightbox as Slides } from "yet-another-react-lightbox";
import Zoom from "yet-another-react-lightbox/plugins/zoom";
import { parseSize } from "@/components/sluice/format";
import type { MenuItem } from "@/components/sluice/popups";

/** An image that can be paged to. */
export interface LightboxImage {
  readonly key: string;
  readonly url: string;
  readonly prompt: string;
  /** `2048x1536` */
  readonly size?: string | undefined;
  /** Model, size and seed, in words. */
  readonly details: readonly string[];
}

interface LightboxProps {
  readonly images: readonly LightboxImage[];
  /** Key of the first item to show. */
  readonly open: string;
  /** Lists the actions of an image. An action closes the lightbox unless it `keepsOpen`. */
  readonly listActions: (image: LightboxImage) => readonly (MenuItem & { readonly keepsOpen?: boolean })[];
  readonly onClose: () => void;
  /** Element that contains it. @default the body */
  readonly root?: HTMLElement | null;
}

/** One image at a time in the whole window, with its prompt and settings. Arrows page, and Escape closes. */
export function Lightbox({ images, open, listActions, onClose, root }: LightboxProps) {
  const slides = images.map(({ url, prompt, size }) => {
    const [width, height] = parseSize(size);
    return { src: url, alt: prompt, width, height };
  });
  return (
    <Slides
      open
      close={onClose}
      index={Math.max(
        0,
        images.findIndex(({ key }) => key === open),
      )}
      slides={slides}
      plugins={[Zoom]}
      carousel={{ finite: true, padding: 0 }}
      animation={{ fade: 150, swipe: 200 }}
      zoom={{ maxZoomPixelRatio: 2, scrollToZoom: true }}
      {...(root && { portal: { root } })}
      // space for the text below an image of any shape
      styles={{ slide: { paddingBottom: "9rem" }, root: { "--yarl__portal_zindex": 40 } }}
      controller={{ closeOnBackdropClick: true }}
      render={{
        slideFooter({ slide }) {
          const image = images[slides.findIndex(({ src }) => "src" in slide && src === slide.src)];
          return image && <Details image={image} actions={listActions(image)} onClose={onClose} />;
        },
      }}
    />
  );
}

interface DetailsProps {
  readonly image: LightboxImage;
  readonly actions: ReturnType<LightboxProps["listActions"]>;
  readonly onClose: () => void;
}

function Details({ image: { prompt, details }, actions, onClose }: DetailsProps) {
  return (
    <div className="absolute inset-x-0 bottom-0 flex flex-col items-center gap-2 bg-linear-to-t from-black/90 to-transparent p-4 pt-12 text-center text-white">
      <p dir="auto" className="line-clamp-3 max-w-3xl text-base">
        {prompt}
      </p>
      <p className="text-sm text-white/80">{details.join(" · ")}</p>
      <div className="flex flex-wrap justify-center gap-1">
        {actions.map(({ label, icon, keepsOpen = false, onSelect }) => (
          <button
            key={label}
            type="button"
            onClick={() => {
              if (!keepsOpen) onClose();
              onSelect();
            }}
            className="inline-flex min-h-8 cursor-pointer items-center justify-center gap-2 rounded-lg px-3 text-sm hover:bg-white/20 pointer-coarse:min-h-11 pointer-coarse:min-w-11 [&_svg]:size-4"
          >
            {icon}
            <span className="max-sm:sr-only">{label}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
