import { createClient, streamResumption } from "@sluice/core";
import { GatewayProvider, signOut } from "@sluice/react";
import { useState } from "react";
import { Chat, type Models } from "./chat";
import { endSession, headersOf, type Session } from "./session";
import { SignIn } from "./sign-in";
import "./chat.css";

/** The whole app: a chat for a user who is signed in. `models` are the server's, the first one is preselected. */
export function ChatApp({ models }: { models: Models }) {
  return (
    <div className="chat">
      <SignIn>{(session) => <SignedIn session={session} models={models} />}</SignIn>
    </div>
  );
}

function SignedIn({ session, models }: { session: Session; models: Models }) {
  // the page has no key: the server at this address adds it
  const [client] = useState(() =>
    createClient({
      baseURL: "/api",
      user: session.user,
      headers: headersOf(session),
      resume: streamResumption(),
    }),
  );

  async function leave() {
    await signOut(client);
    endSession();
    location.reload();
  }

  return (
    <GatewayProvider client={client}>
      <p className="account">
        {session.isDevelopment ? "Development user (not in production)" : session.user}{" "}
        <button type="button" onClick={leave}>
          Sign out
        </button>
      </p>
      <Chat models={models} />
    </GatewayProvider>
  );
}
