"use client";

import { checkRequest } from "@sluice/core/schemas";
import { MediaSettings } from "@/components/sluice/media-settings";
import { useMediaForm } from "@/components/sluice/use-media-form";
import { createVideoForm, createVideoRequest } from "@/components/sluice/video-form";
import { storage } from "../rooms/storage";

/** The settings of a video. */
export function VideoForm() {
  const form = useMediaForm({
    kind: "video",
    storage,
    initial: "beta3.0-video",
    createForm: createVideoForm,
    check: ({ model, values }) => checkRequest(createVideoRequest(model, values)).issues,
  });
  return (
    <div className="flex flex-wrap gap-2">
      <MediaSettings form={form} />
    </div>
  );
}
