create view total as select name, sum(value) as value from measure group by name;
