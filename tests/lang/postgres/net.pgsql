create temp table try (what text, result text);
do $$
declare
  said text;
begin
  -- 192.0.2.1 is nobody's; without a route there is no waiting for it.
  copy try(result) from program 'bash -c "exec 3<>/dev/tcp/192.0.2.1/80" 2>&1 | grep -o "Network is unreachable" | head -1';
  update try set what = 'a connection';
  copy try(result) from program 'getent hosts example.org >/dev/null && echo found || echo no names';
  update try set what = 'a name' where what is null;
  -- The same on the box's own loopback gets an answer.
  copy try(result) from program 'bash -c "exec 3<>/dev/tcp/127.0.0.1/9" 2>&1 | grep -o "Connection refused" | head -1';
  update try set what = 'loopback' where what is null;
end $$;
select * from try;
