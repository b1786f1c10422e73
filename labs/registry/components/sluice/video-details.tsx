"use client";

import type { SucceededVideoTask } from "@sluice/core";
import { Film, Trash2 } from "lucide-react";
import { useState } from "react";
import { Badge, Button, IconButton } from "@/components/sluice/button";
import { formatDuration } from "@/components/sluice/format";
import { videoWords } from "@/components/sluice/media-words";
import { Dialog } from "@/components/sluice/popups";
import { useNow } from "@/components/sluice/use-now";

interface LinkBadgeProps {
  /** Expiry of the link if it is known; Unix milliseconds. */
  readonly expiresAt: number | undefined;
}

/** Shows for how long the link of a video works. */
export function LinkBadge({ expiresAt }: LinkBadgeProps) {
  const now = useNow(1000, expiresAt !== undefined);
  if (expiresAt === undefined) return null;
  const remainingMs = expiresAt - now;
  return (
    <Badge tone={remainingMs < 3_600_000 ? "warn" : "success"}>
      {videoWords.link(formatDuration(remainingMs))}
    </Badge>
  );
}

interface LastFrameProps {
  readonly task: SucceededVideoTask;
  /** Name of the link. */
  readonly label: string;
}

/** The link of the frame that the video ends with, where one was requested. The spec shows no field for it. */
export function LastFrame({ task: { raw }, label }: LastFrameProps) {
  const url = [raw, readField(raw, "data"), readField(readField(raw, "data"), "data")]
    .map((result) => readField(readField(result, "content"), "last_frame_url"))
    .find((value): value is string => typeof value === "string" && /^https?:/.test(value));
  if (!url) return null;
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      aria-label={label}
      data-tip={label}
      className="inline-flex size-8 items-center justify-center rounded-lg text-muted-foreground hover:bg-secondary hover:text-foreground pointer-coarse:size-11"
    >
      <Film className="size-4.5" aria-hidden />
    </a>
  );
}

function readField(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

interface DeleteVideoProps {
  readonly isRunning: boolean;
  readonly onRemove: () => void;
}

/** Deletes a video. Asks first if the video is not finished. */
export function DeleteVideo({ isRunning, onRemove }: DeleteVideoProps) {
  const [isConfirming, setConfirming] = useState(false);
  return (
    <>
      <IconButton label={videoWords.remove} onClick={() => (isRunning ? setConfirming(true) : onRemove())}>
        <Trash2 aria-hidden />
      </IconButton>
      {isConfirming && (
        <Dialog title={videoWords.removeTitle} isOpen onOpenChange={setConfirming}>
          <div className="flex flex-col gap-4">
            <p className="text-sm">{videoWords.removeRunning}</p>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setConfirming(false)}>{videoWords.keep}</Button>
              <Button
                variant="danger"
                onClick={() => {
                  setConfirming(false);
                  onRemove();
                }}
              >
                {videoWords.remove}
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
