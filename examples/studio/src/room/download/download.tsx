import { type MouseEvent, useState } from "react";
import { noteClosed, useIsClosed } from "./closed-origins.js";
import { save } from "./save.js";

interface DownloadProps {
  readonly url: string;
  /** What the file shows: it is called by this. */
  readonly title: string;
  /** What it is, where it is only heard: `image 2`. */
  readonly what: string;
}

/** Saves a file; what can't be saved from here opens in a tab, and is called so as soon as that is known. */
export function Download({ url, title, what }: DownloadProps) {
  const [phase, setPhase] = useState<"saving" | "gone">();
  const { origin } = new URL(url, location.href);
  const isClosed = useIsClosed(origin);

  const start = async (event: MouseEvent) => {
    // with a key held it is a link as any other
    if (isClosed || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (phase === "saving") return;
    setPhase("saving");
    const saved = await save(url, title);
    if (saved === "unreadable") {
      noteClosed(origin);
      // where the browser does not take it for a pop-up; the label says the rest
      open(url, "_blank", "noopener,noreferrer");
    }
    setPhase(saved === "gone" ? "gone" : undefined);
  };

  if (phase === "gone") return <span role="status">Its link does not work any more.</span>;
  const deed = isClosed ? `Open ${what} in a tab` : `Download ${what}`;
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      aria-label={phase === "saving" ? `${deed}: being fetched` : deed}
      title={isClosed ? "Its server lets no page save it: save it from the tab" : undefined}
      onClick={(event) => void start(event)}
    >
      {phase === "saving" ? "Fetching …" : isClosed ? "Open in a tab" : "Download"}
    </a>
  );
}
