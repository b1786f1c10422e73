import { useEffect, useState } from "react";
import { hasFiles } from "../room/dropped.js";
import "./images.css";

/** Takes files that are dropped or pasted anywhere on the page; elsewhere a browser would leave for the file. */
export function DropZone({ onFiles }: { onFiles: (files: Iterable<File>) => void }) {
  // entering a child is heard before leaving its parent: only the count says whether the pointer is still here
  const [depth, setDepth] = useState(0);

  useEffect(() => {
    const open = new AbortController();
    const { signal } = open;
    const take = (event: Event, files: FileList | undefined) => {
      if (!files?.length) return;
      event.preventDefault();
      onFiles(files);
    };
    addEventListener("dragenter", (event) => hasFiles(event) && setDepth((known) => known + 1), { signal });
    addEventListener("dragleave", (event) => hasFiles(event) && setDepth((known) => Math.max(0, known - 1)), {
      signal,
    });
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault(), { signal });
    addEventListener(
      "drop",
      (event) => {
        setDepth(0);
        take(event, event.dataTransfer?.files);
      },
      { signal },
    );
    addEventListener("paste", (event) => take(event, event.clipboardData?.files), { signal });
    return () => open.abort();
  }, [onFiles]);

  if (depth === 0) return null;
  return (
    <p className="drop-here" aria-hidden="true">
      Drop images here
    </p>
  );
}
