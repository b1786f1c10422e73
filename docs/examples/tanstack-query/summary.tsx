import { completeChat } from "@sluice/core";
import { useClient } from "@sluice/react";
import { useQuery } from "@tanstack/react-query";

export function Summary({ text }: { text: string }) {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ["summary", text],
    queryFn: ({ signal }) =>
      completeChat(
        client,
        { model: "alpha-v4.1-flash", messages: [{ role: "user", content: `Summarize: ${text}` }] },
        { signal },
      ),
    retry: false,
    staleTime: Infinity, // another fetch is paid for
    refetchOnWindowFocus: false,
  });
  return <p>{data?.message.content}</p>;
}
