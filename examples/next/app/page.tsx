import { GatewayProvider } from "@sluice/react";
import { Chat } from "./chat";
import { client } from "./client";
import { Studio } from "./studio";

export default async function Page({ searchParams }: { searchParams: Promise<{ name?: string }> }) {
  const { name = "you" } = await searchParams;
  return (
    <main>
      <Chat greeting={`Welcome back, ${name}`} />
      {/* a Server Component may render what the package exports, and pass on a client of a "use client" module */}
      <GatewayProvider client={client}>
        <Studio />
      </GatewayProvider>
    </main>
  );
}
