"use client";

import {
  indexedDBStorage,
  useAsset,
  useChatMessage,
  useImages,
  useVideoTask,
  useVideoTasks,
} from "@sluice/react";

const storage = indexedDBStorage();

/** Shows the state of all hooks except `useChatStream`. The server and the browser render the same text. */
export function Studio() {
  const { status: images } = useImages({ id: "cover", model: "gamma-image-5-0-260128" });
  const { status: video } = useVideoTask({ storage });
  const { tasks } = useVideoTasks({ storage });
  const { status: asset } = useAsset({ groupId: "group-1" });
  const greeting = useChatMessage("support", "greeting");
  return (
    <output>
      {images}, {video}, {tasks.length}, {asset}, {greeting?.content ?? "no message"}
    </output>
  );
}
