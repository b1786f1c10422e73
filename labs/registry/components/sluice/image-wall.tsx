"use client";

import { Square } from "lucide-react";
import { type CSSProperties, type ReactNode, type RefObject, useLayoutEffect, useState } from "react";
import { Button } from "@/components/sluice/button";
import { formatDuration, parseSize } from "@/components/sluice/format";
import { imageWords } from "@/components/sluice/media-words";
import { useNow } from "@/components/sluice/use-now";

/** Returns the style of an item for an image of a size: `2048x1536`. */
export type CreateStyle = (size: string | undefined) => CSSProperties;

interface ImageWallProps {
  /** Name of the list, for screen readers. */
  readonly label: string;
  readonly list: RefObject<HTMLUListElement | null>;
  /** The items: `li` elements with the style of their size. */
  readonly children: (createStyle: CreateStyle) => ReactNode;
}

/** Height of a row of the grid, in pixels. Each image takes as many as it needs. */
const ROW = 4;
const GAP = 16;
/** Minimum width of an image, in pixels. */
const MIN_WIDTH = 320;

/** Images in columns, each in its own shape. */
export function ImageWall({ label, list, children }: ImageWallProps) {
  const [width, setWidth] = useState(MIN_WIDTH);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    // a hidden wall has width 0: keep the last width
    const measure = () => element.clientWidth > 0 && setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [list]);
  const columns = Math.max(1, Math.floor((width + GAP) / (MIN_WIDTH + GAP)));
  const imageWidth = (width - GAP * (columns - 1)) / columns;
  return (
    <ul
      ref={list}
      aria-label={label}
      className="grid grid-flow-dense gap-x-4"
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gridAutoRows: `${ROW}px` }}
    >
      {children((size) => {
        const [sizeWidth, sizeHeight] = parseSize(size);
        const imageHeight = (imageWidth * sizeHeight) / sizeWidth;
        return { gridRowEnd: `span ${Math.ceil((imageHeight + GAP) / ROW)}` };
      })}
    </ul>
  );
}

interface PendingImagesProps {
  readonly createStyle: CreateStyle;
  /** Size that was requested. */
  readonly size: string | undefined;
  /** Maximum number of images. */
  readonly count: number;
  /** Start of the request; Unix milliseconds: `submittedAt` of `useImages`. */
  readonly since: number | undefined;
  /** Stops the request: `stop` of `useImages`. */
  readonly onStop: () => void;
}

/** Placeholders of the images in progress, with their shape. */
export function PendingImages({ createStyle, size, count, since, onStop }: PendingImagesProps) {
  const now = useNow(1000);
  const [width, height] = parseSize(size);
  return Array.from({ length: count }, (_, index) => (
    <li key={index} aria-label={imageWords.generating} style={createStyle(size)}>
      <div
        className="relative flex flex-col items-center justify-center gap-3 overflow-hidden rounded-xl border bg-secondary/50 p-4 text-sm text-muted-foreground"
        style={{ aspectRatio: `${width} / ${height}` }}
      >
        <div
          aria-hidden
          className="absolute inset-0 animate-pulse bg-linear-to-br from-primary/10 to-secondary"
        />
        <span className="relative tabular-nums">
          {imageWords.pending(formatDuration(now - (since ?? now)))}
        </span>
        {index === 0 && (
          <Button className="relative" onClick={onStop}>
            <Square aria-hidden />
            {imageWords.stop}
          </Button>
        )}
      </div>
    </li>
  ));
}
