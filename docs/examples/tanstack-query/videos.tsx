import { createVideoTask, getVideoTask, type VideoTaskHandle } from "@sluice/core";
import { describeError, useClient } from "@sluice/react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

function Video({ handle }: { handle: VideoTaskHandle }) {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ["video-task", client.user, handle.id],
    queryFn: ({ signal }) => getVideoTask(client, handle, { signal }),
    refetchInterval: ({ state: { data, error } }) =>
      data?.state === "succeeded" || data?.state === "failed" || error?.name === "TaskError" ? false : 10_000,
    retry: false, // the client retries
  });
  if (error) return <p role="alert">{describeError(error).title}</p>;
  return data?.state === "succeeded" ? <video src={data.url} controls /> : <p>{data?.state ?? "…"}</p>;
}

export function Videos() {
  const client = useClient();
  const [handle, setHandle] = useState<VideoTaskHandle>();
  const creation = useMutation({
    mutationFn: (prompt: string) =>
      createVideoTask(client, { model: "beta3.0-video", input: { prompt }, parameters: { duration: 5 } }),
    retry: false, // a repetition could bill a second video; the client repeats what is safe
    onSuccess: setHandle,
  });
  return (
    <>
      <button type="button" disabled={creation.isPending} onClick={() => creation.mutate("A reef at dawn")}>
        Create
      </button>
      {handle && <Video handle={handle} />}
    </>
  );
}
