//! `muster gateway`: a door in front of coordinators, for callers that nobody has to trust (P16).

use super::{serve, worker_program};
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
};
use clap::Args;
use muster_gateway::{CoordinatorUrl, Rates, Settings};
use std::time::Duration;
use tokio::sync::watch;

#[derive(Debug, Args)]
pub(crate) struct Gateway {
    /// A coordinator's address, such as http://127.0.0.1:7400; several for those that may lead in turn
    #[arg(long, value_name = "URL", required = true, num_args = 1.., value_delimiter = ',')]
    coordinator: Vec<CoordinatorUrl>,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7401")]
    listen: String,
    /// Requests a second with one token; 0 for any number
    #[arg(long, value_name = "N", default_value_t = Rates::default().per_key)]
    rate_per_key: u32,
    /// Requests a second from one address, of IPv6 from one /64; 0 for any number
    #[arg(long, value_name = "N", default_value_t = Rates::default().per_address)]
    rate_per_address: u32,
    /// Requests at once after a pause, of one token or address
    #[arg(long, value_name = "N", default_value_t = Rates::default().burst, value_parser = clap::value_parser!(u32).range(1..))]
    burst: u32,
    /// The longest body that passes
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().body_limit_bytes)]
    body_limit: u64,
    /// Requests under way at once, those that wait or stream included
    #[arg(long, value_name = "N", default_value_t = Settings::default().requests_max)]
    max_requests: usize,
    /// Connections at once, idle ones included
    #[arg(long, value_name = "N", default_value_t = Settings::default().connections_max)]
    max_connections: usize,
    /// A name under which callers may address this gateway, beside IP addresses and localhost
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Format of log lines: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = log_format)]
    log_format: LogFormat,
}

impl Gateway {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        logging::start(self.log_format, "info");
        serve::raise_open_files();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(self.serve());
        runtime.shutdown_timeout(Duration::from_millis(500));
        served.map(|()| Exit::Fine)
    }

    async fn serve(self) -> Result<(), Failure> {
        let (stop, stopped) = watch::channel(false);
        worker_program::on_request(move || {
            tracing::info!("stopping: finishing what is under way; once more ends at once");
            stop.send_replace(true);
        })?;
        let listener = serve::bind(&self.listen).await?;
        let address = listener.local_addr()?;
        let gateway = muster_gateway::Gateway::new(self.coordinator.clone(), self.settings());
        let gateway = gateway.map_err(|error| Failure::Usage(error.to_string()))?;
        // Check the servers before the line is printed: its reader relies on a gateway that knows which are ready.
        gateway.check().await;
        output::line(&format!("listening on http://{address}"));
        tracing::info!(%address, "listening");
        gateway.serve(listener, serve::wait_for(stopped)).await;
        tracing::info!("stopped");
        Ok(())
    }

    fn settings(&self) -> Settings {
        let rates =
            Rates { per_key: self.rate_per_key, per_address: self.rate_per_address, burst: self.burst };
        Settings {
            rates,
            body_limit_bytes: self.body_limit,
            requests_max: self.max_requests,
            connections_max: self.max_connections,
            hosts: self.host.clone(),
            ..Settings::default()
        }
    }
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("it is text or json".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;

    fn parse(line: &str) -> Result<Gateway, clap::Error> {
        parse_flags(line.split(' '))
    }

    /// P16: several coordinators are named in a row, one by one or with commas; each is an http or https address.
    #[test]
    fn coordinators_are_addresses() {
        assert_eq!(parse("g --coordinator http://a:1 https://b").unwrap().coordinator.len(), 2);
        assert_eq!(
            parse("g --coordinator http://a:1 --coordinator http://b:2").unwrap().coordinator.len(),
            2
        );
        assert_eq!(parse("g --coordinator http://a:1,https://b").unwrap().coordinator.len(), 2);
        for wrong in [
            "g",
            "g --coordinator a:1",
            "g --coordinator http://a:1,b",
            "g --coordinator ftp://a",
            "g --coordinator http://u:p@a",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    /// P16, I9: rates can be set, and switched off.
    #[test]
    fn rates_can_be_set() {
        let line =
            "g --coordinator http://a --rate-per-key 5 --rate-per-address 0 --burst 7 --log-format json";
        let settings = parse(line).unwrap().settings();
        assert_eq!(settings.rates, Rates { per_key: 5, per_address: 0, burst: 7 });
        assert!(parse("g --coordinator http://a --burst 0").is_err());
        assert!(parse("g --coordinator http://a --log-format xml").is_err());
    }
}
