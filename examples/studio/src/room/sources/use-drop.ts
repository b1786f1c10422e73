import { type DragEvent, useState } from "react";
import { hasFiles, linksOf } from "../dropped.js";

/** What was let go over an element. */
export interface Dropped {
  readonly files: readonly File[];
  readonly links: readonly string[];
}

/** Takes files and links that are dropped on an element, with what it needs for that, and whether something is over it. */
export function useDrop(onDrop: (dropped: Dropped) => void) {
  const [isOver, setOver] = useState(false);
  const target = {
    onDragOver(event: DragEvent) {
      if (!hasFiles(event) && !event.dataTransfer.types.includes("text/uri-list")) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave({ currentTarget, relatedTarget }: DragEvent) {
      // moving on to a child is leaving too
      if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
    },
    onDrop(event: DragEvent) {
      event.preventDefault();
      setOver(false);
      const files = [...event.dataTransfer.files];
      // an image of a page comes as both; its address is what every model takes
      const links = linksOf(event.dataTransfer);
      onDrop(links.length > 0 ? { files: [], links } : { files, links });
    },
  };
  return { isOver, target };
}
