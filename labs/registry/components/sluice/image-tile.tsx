"use client";

import { Download, Ellipsis, Maximize2, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { parseSize } from "@/components/sluice/format";
import { LinkedImage, MediaFrame, MediaNote } from "@/components/sluice/media-frame";
import { type MediaLink, useMediaLink } from "@/components/sluice/media-link";
import { imageWords } from "@/components/sluice/media-words";
import { Menu, type MenuItem } from "@/components/sluice/popups";
import { cn } from "@/lib/utils";

interface ImageTileProps {
  /** An image of `useImages`, or why there is none. */
  readonly image: {
    readonly url?: string | undefined;
    readonly error?: { readonly message: string } | undefined;
  };
  readonly prompt: string;
  /** Name of the image, for screen readers. @default the prompt */
  readonly name?: string;
  /** Size of the image, or the requested size: `2048x1536`. */
  readonly size: string | undefined;
  /** Shows it in the whole window. */
  readonly onOpen: () => void;
  /** Saves the image: `downloadMedia`. Reports a missing file to the link. */
  readonly onDownload: (link: MediaLink) => void;
  readonly onRemove: () => void;
  /** The actions of its menu. */
  readonly actions: readonly MenuItem[];
  /** Buttons for a tile without an image. */
  readonly children?: ReactNode;
}

/** One image on the wall, with its actions. */
export function ImageTile(props: ImageTileProps) {
  const { image, prompt, name = prompt, size, onOpen, onDownload, onRemove, actions, children } = props;
  const link = useMediaLink(image.url ?? "");
  const [width, height] = parseSize(size);
  const shape = { aspectRatio: `${width} / ${height}` };
  const remove = (
    <Button variant="quiet" onClick={onRemove}>
      <Trash2 aria-hidden />
      {imageWords.remove}
    </Button>
  );
  if (image.error)
    return (
      <div className="rounded-xl border bg-secondary/50" style={shape}>
        <MediaNote title={imageWords.failed} text={image.error.message}>
          {children}
          {remove}
        </MediaNote>
      </div>
    );
  const isCovered = link.phase !== "loading" && link.phase !== "shown";
  const openItem = { label: imageWords.openItem, icon: <Maximize2 aria-hidden />, onSelect: onOpen };
  return (
    <div className="group relative overflow-hidden rounded-xl bg-secondary" style={shape}>
      <MediaFrame
        link={link}
        kind="image"
        caption={prompt}
        onDownload={() => onDownload(link)}
        element={
          <button
            type="button"
            aria-label={imageWords.open(name)}
            onClick={onOpen}
            className="block size-full cursor-pointer -outline-offset-2"
          >
            <LinkedImage
              link={link}
              src={image.url}
              alt={name}
              width={width}
              height={height}
              loading="lazy"
              className="size-full"
            />
          </button>
        }
      >
        {children}
        {remove}
      </MediaFrame>
      {link.isUsable && (
        <Overlay isOverImage={!isCovered}>
          <p dir="auto" className="line-clamp-2 min-w-0 grow text-sm">
            {!isCovered && prompt}
          </p>
          <span className="pointer-events-auto flex gap-1 text-foreground">
            <IconButton variant="secondary" label={imageWords.download} onClick={() => onDownload(link)}>
              <Download aria-hidden />
            </IconButton>
            <Menu
              align="end"
              trigger={
                <IconButton variant="secondary" label={imageWords.actions}>
                  <Ellipsis aria-hidden />
                </IconButton>
              }
              items={isCovered ? [openItem, ...actions] : actions}
            />
          </span>
        </Overlay>
      )}
    </div>
  );
}

interface OverlayProps {
  /** False without a visible image: the buttons then stay visible. */
  readonly isOverImage: boolean;
  readonly children: ReactNode;
}

function Overlay({ isOverImage, children }: OverlayProps) {
  return (
    <div
      className={cn(
        "pointer-events-none absolute inset-x-0 bottom-0 flex items-end gap-2 p-3 pt-10",
        isOverImage &&
          "bg-linear-to-t from-black/80 to-transparent text-white opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 group-has-data-popup-open:opacity-100 pointer-coarse:opacity-100",
      )}
    >
      {children}
    </div>
  );
}
