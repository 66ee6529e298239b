import { useEffect } from "preact/hooks";
import { DrillPage } from "../drill/page";
import { AuditPage } from "../audit/page";
import { FleetPage } from "../fleet/page";
import { HistoryPage } from "../history/page";
import { IncidentsPage } from "../incidents/page";
import { JobsPage } from "../jobs/page";
import { InboxPage } from "../inbox/page";
import { connection, inbox } from "../live/session";
import { Palette } from "../palette/palette";
import { PlanPage } from "../plan/page";
import { ProbesPage } from "../probes/page";
import { RunbookPage } from "../runbook/page";
import { TopologyPage } from "../topology/page";
import { Banner } from "./banner";
import { Header } from "./header";
import { MissingPage } from "./missing";
import { route } from "./route";
import { SignIn, SignInPage } from "./sign_in";
import { titleOf } from "./title";

function Here() {
  switch (route.value.view) {
    case "inbox":
      return <InboxPage />;
    case "sign-in":
      return <SignInPage />;
    case "runbook":
      return <RunbookPage />;
    case "incidents":
      return <IncidentsPage />;
    case "jobs":
      return <JobsPage />;
    case "topology":
      return <TopologyPage />;
    case "history":
      return <HistoryPage />;
    case "audit":
      return <AuditPage />;
    case "probes":
      return <ProbesPage />;
    case "plan":
      return <PlanPage />;
    case "drill":
      return <DrillPage />;
    case "missing":
      return <MissingPage />;
    default:
      return <FleetPage />;
  }
}

export function App() {
  const state = connection.value;
  const title = titleOf(route.value, inbox.value?.counts["open"] ?? 0);
  useEffect(() => void (document.title = title), [title]);
  return (
    <>
      <Header />
      <Banner />
      <Palette />
      {state.kind === "signed-out" ? <SignIn reason={state.reason} /> : <Here />}
    </>
  );
}
