import type { SucceededVideoTask } from "@sluice/core";
import { useState } from "react";
import { Download } from "../room/download/download.js";
import { duration, moment, useNow } from "../room/use-now.js";
import { lastFrameOf } from "./last-frame.js";

/** A finished video. */
export function Player({ video, name }: { video: SucceededVideoTask; name: string }) {
  const { url, expiresAt } = video;
  const [isGone, setGone] = useState(false);
  const lastFrame = lastFrameOf(video);
  return (
    <figure className="player">
      {isGone ? (
        <p className="blank">Its link does not work any more.</p>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: nobody wrote captions for what was just made
        <video
          aria-label={name}
          src={url}
          controls
          playsInline
          preload="metadata"
          onError={() => setGone(true)}
        />
      )}
      {!isGone && (
        <figcaption className="hint">
          <span>
            {expiresAt === undefined ? "The link does not last: keep a copy." : <Expiry at={expiresAt} />}
          </span>
          <span className="copies">
            {lastFrame && (
              <a href={lastFrame} target="_blank" rel="noreferrer">
                Last frame
              </a>
            )}
            <Download url={url} title={name} what="the video" />
          </span>
        </figcaption>
      )}
    </figure>
  );
}

/** How long a link goes on working: an estimate, as the gateway's own. */
function Expiry({ at }: { at: number }) {
  const left = at - useNow();
  if (left <= 0) return "The link has run out, or is about to.";
  return `The link works for ${duration(left)} more, until ${moment(at)}: keep a copy.`;
}
